// Package vm runs a job in a virtual machine in virtual time, with this program as the first
// process (lab/kernel/guest): a stock distribution kernel in QEMU, in software emulation, or
// a kernel that is a program itself (program.go). The same kernel, program, QEMU and job give
// the same report, byte for byte, on any host and at any load. It needs no root, no KVM and
// no network.
//
// It does not know the job. The guest and the host exchange bytes in shared memory
// (vm/mailbox). The first machine of a kind is saved when it has booted, and the others of
// this process start from there (snapshot.go).
//
// Its trap: in QEMU virtual time is counted in instructions, so whatever differs in the guest
// differs in time as well: another option of QEMU or of the kernel's command line, another
// module, or a host's random number is another experiment. QEMU's threads stay on one host
// CPU for the same reason: when they run at once, timers fire a few instructions earlier
// or later. And the emulated TLB is sized by the host's clock: a program in the guest must
// not use pages between their removal and the flush (process.KeepPages).
package vm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/congctl/congctl/internal/lab/kernel/vm/mailbox"
)

// Machine is a machine to run once.
type Machine struct {
	Kernel   Kernel
	Init     string // the first process: a static amd64 program; "": this one
	Job      []byte // JSON, its "seed" seeds all random numbers of the guest
	Load     []string
	CPU      int // the n-th of the CPUs that this process may use, counted round
	MemoryMB int // 0: 512
	// CPUTakesTime lets the clock of a kernel that is a program run while it computes, too, so
	// that signals may come at any moment: such runs differ. It has no effect in QEMU.
	CPUTakesTime bool
	Wall         time.Duration
	Progress     func(line string) // may be nil
}

// Outcome is the result of a machine. Console, Args and hashes are set even if the run
// ended with an error.
type Outcome struct {
	Report  []byte
	Missing []string      // of Load: not modules of this kernel (built in, or not there)
	Console string        // its end
	Wall    time.Duration // real time from its start to its end
	CPU     time.Duration // of it, CPU time of QEMU or the program: what a host without other work needs
	Times   mailbox.Times // on the guest's clock

	QEMU         string // version
	Args         []string
	KernelSHA256 string
	InitSHA256   string
}

const (
	defaultMemoryMB = 512
	// defaultWall: the longest cell of the shipped scenarios takes some minutes on a slow host.
	defaultWall = 15 * time.Minute
)

var (
	// ErrHung: the machine was still running at its wall-clock limit.
	ErrHung = errors.New("guest hung")
	// ErrPanic: the guest's kernel, or its first process, died.
	ErrPanic = errors.New("guest panicked")
	// ErrGuest: the guest reported what went wrong.
	ErrGuest = mailbox.ErrGuest
)

// Run boots the machine, waits until it has turned itself off, and returns its report.
func Run(ctx context.Context, m Machine) (Outcome, error) {
	var out Outcome
	err := m.complete()
	if err == nil {
		err = m.run(ctx, &out)
	}
	if err != nil {
		return out, fmt.Errorf("run guest: %w", err)
	}
	return out, nil
}

func (m *Machine) complete() (err error) {
	if m.MemoryMB == 0 {
		m.MemoryMB = defaultMemoryMB
	}
	if m.Wall == 0 {
		m.Wall = defaultWall
	}
	if m.Init == "" {
		if runtime.GOARCH != "amd64" {
			return fmt.Errorf("find init: the guest is amd64, this congctl %s: use a congctl built with GOARCH=amd64", runtime.GOARCH)
		}
		m.Init, err = os.Executable()
	}
	return err
}

func (m *Machine) run(ctx context.Context, out *Outcome) error {
	var emulator qemu
	if !m.Kernel.Program {
		var err error
		if emulator, err = findQEMU(ctx); err != nil {
			return err
		}
		out.QEMU = emulator.version
	}
	parts, err := m.parts(out)
	if err != nil {
		return err
	}
	defer parts.close()
	if err := parts.box.Give(m.Job); err != nil {
		return err
	}
	start, end, err := m.starts(ctx, emulator, parts, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.Wall, ErrHung)
	defer cancel()
	started := time.Now()
	var ran error
	out.CPU, ran = start(ctx)
	end(ran != nil)
	out.Wall = time.Since(started)
	out.Console = parts.consoleEnd()
	out.Report, out.Times, err = parts.box.Take()
	return explain(ctx, m, err, ran, out.Console)
}

// starts returns how the machine is started and what follows its end.
func (m *Machine) starts(ctx context.Context, emulator qemu, p *parts, out *Outcome) (start func(context.Context) (time.Duration, error), end func(failed bool), err error) {
	if m.Kernel.Program {
		return m.startsProgram(p, out)
	}
	boot, err := prepare(ctx, m.made(out))
	if err != nil {
		return nil, nil, err
	}
	out.Args = append(m.args(p), boot.args()...)
	return func(ctx context.Context) (time.Duration, error) { return p.run(ctx, m, boot, emulator.path, out.Args) }, boot.end, nil
}

// parts makes QEMU's input, and names it in out.
func (m *Machine) parts(out *Outcome) (*parts, error) {
	image, err := os.ReadFile(m.Kernel.Image)
	if err != nil {
		return nil, fmt.Errorf("read kernel: %w", err)
	}
	init, err := readInit(m.Init)
	if err != nil {
		return nil, err
	}
	out.KernelSHA256, out.InitSHA256 = hash(image), hash(init)
	var initramfs bytes.Buffer
	initramfs.Grow(len(init) + 4<<20)
	out.Missing, err = WriteInitramfs(&initramfs, m.Kernel.Modules, m.Load, func(a *Archive) error {
		a.File("init", 0o755, init)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newParts(bootable(image, out.KernelSHA256), initramfs.Bytes())
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
