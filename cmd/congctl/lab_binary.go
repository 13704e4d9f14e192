package main

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/congctl/congctl/internal/app/lab/report"
)

// thisBinary names the program that runs, which is the guest's /init as well.
func thisBinary() (b report.Binary, err error) {
	path, err := os.Executable()
	if err != nil {
		return b, fmt.Errorf("find own program: %w", err)
	}
	sum, err := hashOf(path)
	return report.Binary{Version: version, SHA256: sum}, err
}

func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash file: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// errDynamic: there are no libraries in the guest.
var errDynamic = errors.New("this congctl is linked dynamically and cannot be the guest's first program: " +
	"build it with CGO_ENABLED=0 (make build), without -race")

// checkStatic refuses a program that needs an interpreter, which the kernel of the
// guest would look for in vain and panic.
func checkStatic(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("read own program: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errDynamic
		}
	}
	return nil
}
