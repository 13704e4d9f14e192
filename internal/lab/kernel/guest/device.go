package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/kernel/vm/mailbox"
)

const (
	// QEMU's ivshmem (docs/specs/ivshmem-spec.txt): a PCI device whose third region is
	// the memory that it shares with the host.
	ivshmemID     = "0x1af4:0x1110"
	ivshmemRegion = "resource2"
	// User Mode Linux's (arch/um/drivers/mmapper_kern.c).
	mmapper = "/dev/mmapper"
)

// isProgram reports whether the kernel is a program (User Mode Linux); /dev must be mounted.
func isProgram() bool {
	_, err := os.Stat(mmapper)
	return err == nil
}

// openMailbox maps the shared memory. It comes first, and so mounts what it needs.
func openMailbox() (mailbox.Box, error) {
	if err := errors.Join(mountOne("sysfs", "/sys"), mountOne("devtmpfs", "/dev")); err != nil {
		return mailbox.Box{}, err
	}
	if isProgram() {
		return mapMailbox(mmapper)
	}
	devices, err := filepath.Glob("/sys/bus/pci/devices/*")
	if err != nil {
		return mailbox.Box{}, err
	}
	for _, dir := range devices {
		if identity(dir) == ivshmemID {
			if err := os.WriteFile(filepath.Join(dir, "enable"), []byte("1"), 0); err != nil {
				return mailbox.Box{}, fmt.Errorf("enable mailbox: %w", err)
			}
			return mapMailbox(filepath.Join(dir, ivshmemRegion))
		}
	}
	return mailbox.Box{}, fmt.Errorf("find mailbox: none of %d PCI devices is %s", len(devices), ivshmemID)
}

func identity(dir string) string {
	vendor, _ := os.ReadFile(filepath.Join(dir, "vendor"))
	device, _ := os.ReadFile(filepath.Join(dir, "device"))
	return strings.TrimSpace(string(vendor)) + ":" + strings.TrimSpace(string(device))
}

func mapMailbox(path string) (box mailbox.Box, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return box, fmt.Errorf("open mailbox: %w", err)
	}
	defer f.Close()
	memory, err := unix.Mmap(int(f.Fd()), 0, mailbox.Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return box, fmt.Errorf("map mailbox: %w", err)
	}
	return mailbox.Open(memory)
}
