package vm

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/kernel/vm/mailbox"
)

// All machines with the same kernel, program, modules and memory are alike until they read
// their jobs, and a guest requests a pause right before. So the first one is saved there,
// with QEMU's savevm, and the others start from it, which saves the boot.
//
// Results do not depend on it: a machine that continues from a snapshot executes the same
// instructions at the same virtual times as one that was never stopped. The stop itself may move
// QEMU's clock, and the guest makes up for that (guest.pause).
//
// QEMU's migration to a file would need no drive, but aborts while recording (7.2:
// replay_save_clock: assertion failed).

const snapshotName = "booted"

// booted keeps the last snapshot of this process. Its holder may boot; others that want
// the same wait, since loading is quicker.
var booted = make(chan snapshot, 1)

func init() { booted <- snapshot{} }

type snapshot struct {
	of    string   // what the machine is made of
	drive *os.File // nil where there is none
	never bool     // it does not pause, or QEMU cannot keep it
}

// boot is how a machine gets to its job.
type boot struct {
	of    string
	load  bool // its drive holds a snapshot
	keep  bool // this one makes the snapshot, and has the right to boot
	drive *os.File
}

// prepare takes the snapshot for a machine, or the right to make one.
func prepare(ctx context.Context, of string) (*boot, error) {
	var s snapshot
	select {
	case s = <-booted:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	b := &boot{of: of, load: s.of == of && s.drive != nil, keep: s.of != of}
	var err error
	if b.load {
		b.drive, err = copyOf(s.drive)
	} else {
		b.drive, err = memory("drive", emptyDrive())
	}
	switch {
	case err != nil || !b.keep:
		booted <- s
	case s.drive != nil:
		s.drive.Close()
	}
	return b, err
}

// end returns the right to boot if the machine did not come to its pause. If nothing else
// was wrong the next one need not try.
func (b *boot) end(failed bool) {
	if b.keep {
		b.give(snapshot{of: b.of, never: !failed})
	}
	if b.drive != nil {
		b.drive.Close()
	}
}

func (b *boot) give(s snapshot) {
	b.keep = false
	if s.drive == nil && !s.never {
		s.of = ""
	}
	booted <- s
}

func (b *boot) args() []string {
	switch {
	case b.load:
		return []string{"-S", "-loadvm", snapshotName}
	case b.keep:
		return []string{"-action", "panic=pause"}
	}
	return nil
}

// follow talks to QEMU until the machine runs and nothing more is to be sent. The job is
// in the mailbox from the start; a loaded snapshot brings its own mailbox.
func (b *boot) follow(rw io.ReadWriter, box mailbox.Box, job []byte) error {
	m := newMonitor(rw)
	err := m.greet()
	if err != nil {
		return err
	}
	switch {
	case b.load:
		err = box.Give(job)
	case b.keep:
		if err = m.await("GUEST_PANICKED"); err == nil && box.Waits() { // else the guest's kernel has panicked
			err = b.save(m)
		}
	default:
		return nil
	}
	if err == nil {
		_, err = m.ask("cont", nil)
	}
	return err
}

// save keeps the machine and lets others start from it. That it cannot be kept is no
// reason to end this one.
func (b *boot) save(m *monitor) error {
	if err := m.save(); err != nil {
		b.give(snapshot{of: b.of, never: true})
		return nil
	}
	drive, err := copyOf(b.drive)
	if err != nil {
		return err
	}
	b.give(snapshot{of: b.of, drive: drive})
	return nil
}

// copyOf makes a machine's own: QEMU writes into a drive that it loads from.
func copyOf(drive *os.File) (*os.File, error) {
	info, err := drive.Stat()
	if err != nil {
		return nil, fmt.Errorf("copy snapshot: %w", err)
	}
	to, err := memory("drive", nil)
	if err != nil {
		return nil, fmt.Errorf("copy snapshot: %w", err)
	}
	for at := int64(0); at < info.Size(); {
		n, err := unix.Sendfile(int(to.Fd()), int(drive.Fd()), &at, int(info.Size()-at))
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			to.Close()
			return nil, fmt.Errorf("copy snapshot: %w", err)
		}
	}
	return to, nil
}

// made returns what a machine is made of: machines with the same are alike until they read
// the job.
func (m *Machine) made(out *Outcome) string {
	return strings.Join(append([]string{out.QEMU, out.KernelSHA256, out.InitSHA256, m.Kernel.Modules, fmt.Sprint(m.MemoryMB)}, m.Load...), "\n")
}
