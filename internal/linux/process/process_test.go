package process

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUsed: what this process takes shows, in files and in memory.
func TestUsed(t *testing.T) {
	before, err := Used()
	if err != nil || before.CPUSeconds <= 0 || before.MaxFiles < before.OpenFiles || before.OpenFiles < 3 {
		t.Fatalf("%+v, %v", before, err)
	}
	// Of the kernel's, since the heap may have pages left that it touched before.
	memory, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	for i := range memory {
		memory[i] = 1
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	after, err := Used()
	if grown := after.ResidentBytes - before.ResidentBytes; err != nil || grown < 32<<20 || after.OpenFiles <= before.OpenFiles {
		t.Errorf("%+v, before %+v, %v", after, before, err)
	}
}

func TestStrangeStatm(t *testing.T) {
	name := filepath.Join(t.TempDir(), "statm")
	for _, text := range []string{"", "12", "1 x"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := residentPages(name); err == nil {
			t.Errorf("%q is %v pages", text, n)
		}
	}
}
