package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/vm/mailbox"
)

// QEMU's ivshmem (docs/specs/ivshmem-spec.txt): a PCI device whose third region is
// the memory that it shares with the host.
const (
	ivshmemID     = "0x1af4:0x1110"
	ivshmemRegion = "resource2"
)

// openMailbox maps the shared memory. It comes before all else, and so mounts the
// sysfs that it needs.
func openMailbox() (mailbox.Box, error) {
	if err := mountOne("sysfs", "/sys"); err != nil {
		return mailbox.Box{}, err
	}
	devices, err := filepath.Glob("/sys/bus/pci/devices/*")
	if err != nil {
		return mailbox.Box{}, err
	}
	for _, dir := range devices {
		if identity(dir) == ivshmemID {
			return mapMailbox(dir)
		}
	}
	return mailbox.Box{}, fmt.Errorf("find mailbox: none of %d PCI devices is %s", len(devices), ivshmemID)
}

func identity(dir string) string {
	vendor, _ := os.ReadFile(filepath.Join(dir, "vendor"))
	device, _ := os.ReadFile(filepath.Join(dir, "device"))
	return strings.TrimSpace(string(vendor)) + ":" + strings.TrimSpace(string(device))
}

func mapMailbox(dir string) (box mailbox.Box, err error) {
	if err := os.WriteFile(filepath.Join(dir, "enable"), []byte("1"), 0); err != nil {
		return box, fmt.Errorf("enable mailbox: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, ivshmemRegion), os.O_RDWR, 0)
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
