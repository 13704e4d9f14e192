package vm

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"slices"
)

// readInit reads the guest's first process, and reports in words what the guest's kernel
// would report by a panic.
func readInit(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read init: %w", err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("read init %s: %w", path, err)
	}
	if f.Machine != elf.EM_X86_64 {
		return nil, fmt.Errorf("read init %s: for %s, and the guest is x86-64: build it with GOARCH=amd64", path, f.Machine)
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return nil, fmt.Errorf("read init %s: needs a loader, and the guest has none: build it with CGO_ENABLED=0", path)
	}
	return b, nil
}
