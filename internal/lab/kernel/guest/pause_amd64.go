package guest

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

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

// heldFor only has to be some time: the next timer of the machine ends what is held.
const heldFor = time.Millisecond

// pause asks QEMU to stop the machine, and returns when it continues. The host decides
// whether it does stop.
//
// While QEMU stops a machine, its main loop may take the stopped CPU for an idle one and skip
// to the next timer. It depends on the host which of QEMU's threads is first. So the
// CPU stays on one instruction until that timer: it comes to the same place at the same time
// with the same registers, whether QEMU has skipped or not.
func pause() error {
	runtime.LockOSThread() // to which the port belongs
	defer runtime.UnlockOSThread()
	if err := ioperm(1); err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	runtime.GOMAXPROCS(2) // this thread and the one that lets it go
	defer runtime.GOMAXPROCS(1)
	var h hold
	time.AfterFunc(heldFor, func() {
		for atomic.LoadUintptr(&h.out) == 0 { // not held yet
			time.Sleep(heldFor)
		}
		atomic.StoreUintptr(&h.next, atomic.LoadUintptr(&h.out))
	})
	outbHeld(pvpanicPort, panicked, &h)
	return ioperm(0)
}

// hold is where the CPU goes after it has written the byte: the same instruction again, until
// next is out.
type hold struct{ next, out uintptr }

func ioperm(on uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOPERM, pvpanicPort, 1, on); errno != 0 {
		return fmt.Errorf("ioperm: %w", errno)
	}
	return nil
}

// outbHeld writes a byte to an I/O port, and is held from the next instruction on.
//
//go:noescape
func outbHeld(port uint16, value uint8, h *hold)
