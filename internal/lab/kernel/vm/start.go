package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pollEvery: how often progress is looked for. The guest does not notice.
const pollEvery = 100 * time.Millisecond

// run runs QEMU until it ends or ctx does, passes progress on, and returns the CPU time.
func (p *parts) run(ctx context.Context, m *Machine, b *boot, path string, args []string) (time.Duration, error) {
	p.drive = b.drive
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.ExtraFiles = p.files()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := startPinned(cmd, m.CPU, 0); err != nil {
		return 0, fmt.Errorf("start %s: %w", path, err)
	}
	followed := p.follow(b, m.Job, stop)
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		p.near.Close() // nothing more can be said
		ended <- cmp.Or(<-followed, err)
	}()
	cpu, err := p.wait(cmd, ended, m)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return cpu, err
}

// wait passes progress on until cmd has ended, and returns its CPU time.
func (p *parts) wait(cmd *exec.Cmd, ended <-chan error, m *Machine) (time.Duration, error) {
	read := 0
	tell := func() {
		var lines []string
		lines, read = p.box.Lines(read)
		for _, line := range lines {
			if m.Progress != nil {
				m.Progress(line)
			}
		}
	}
	defer tell()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			if err != nil {
				return cpu, fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
			}
			return cpu, nil
		case <-ticker.C:
			tell()
		}
	}
}

// follow brings the machine to its job, beside it, and stops it if that fails.
func (p *parts) follow(b *boot, job []byte, stop func()) (failed chan error) {
	p.far.Close() // QEMU has its own, and ends the conversation when it ends
	failed = make(chan error, 1)
	go func() {
		err := b.follow(p.near, p.box, job)
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) {
			err = nil // QEMU has ended, and says itself why
		}
		if err != nil {
			stop()
		}
		failed <- err
	}()
	return failed
}

// startPinned starts cmd on one CPU, with so much of a personality(2): a child inherits both
// from the thread that starts it, and all its threads do from there.
func startPinned(cmd *exec.Cmd, n int, personality uintptr) error {
	runtime.LockOSThread()
	var own, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("read own CPUs: %w", err)
	}
	one.Set(nthCPU(&own, n))
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("pin to a CPU: %w", err)
	}
	err := withPersonality(personality, cmd.Start)
	// A thread that cannot be moved back is not unlocked, so that nothing else runs on it.
	// Nor is it ended: the child would get its death signal.
	if back := unix.SchedSetaffinity(0, &own); back != nil {
		return fmt.Errorf("return to own CPUs: %w", back)
	}
	runtime.UnlockOSThread()
	return err
}

// withPersonality calls start with these bits set for this thread, where there are any.
func withPersonality(bits uintptr, start func() error) error {
	if bits == 0 {
		return start()
	}
	before, _, errno := unix.Syscall(unix.SYS_PERSONALITY, asItIs, 0, 0)
	if errno == 0 {
		_, _, errno = unix.Syscall(unix.SYS_PERSONALITY, before|bits, 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("personality(2), for addresses that are the same each time: %w", errno)
	}
	defer unix.Syscall(unix.SYS_PERSONALITY, before, 0, 0)
	return start()
}

// nthCPU is the n-th CPU of a set, counted round.
func nthCPU(set *unix.CPUSet, n int) int {
	n = ((n % set.Count()) + set.Count()) % set.Count()
	for cpu := 0; ; cpu++ {
		if set.IsSet(cpu) {
			if n == 0 {
				return cpu
			}
			n--
		}
	}
}
