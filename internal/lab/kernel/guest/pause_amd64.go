package guest

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// QEMU's pvpanic (docs/specs/pvpanic.txt) is a byte at an I/O port. This program writes it
// for what QEMU then does, not because of a panic.
//
// The port, not the PCI device of the same kind: a kernel told to ignore ACPI puts small
// regions where the interrupt controller hides them.
const (
	pvpanicPort = 0x505
	panicked    = 1 // PVPANIC_PANICKED
)

// pause asks QEMU to stop the machine, and returns when it continues. The host decides
// whether it does stop.
func pause() error {
	runtime.LockOSThread() // to which the port belongs
	defer runtime.UnlockOSThread()
	if err := ioperm(1); err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	outb(pvpanicPort, panicked)
	return ioperm(0)
}

func ioperm(on uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOPERM, pvpanicPort, 1, on); errno != 0 {
		return fmt.Errorf("ioperm: %w", errno)
	}
	return nil
}

// outb writes a byte to an I/O port.
func outb(port uint16, value uint8)
