package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pollEvery: how often progress is looked for. The guest does not notice.
const pollEvery = 100 * time.Millisecond

// run runs QEMU until it ends or ctx does, passes progress on, and gives the CPU time.
func (p *parts) run(ctx context.Context, m *Machine, b *boot, path string, args []string) (time.Duration, error) {
	p.drive = b.drive
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.ExtraFiles = p.files()
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stderr, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := startPinned(cmd, m.CPU); err != nil {
		return 0, fmt.Errorf("start %s: %w", path, err)
	}
	followed := p.follow(b, m.Job, stop)
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		p.near.Close() // nothing more can be said
		ended <- cmp.Or(<-followed, err)
	}()
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
				return cpu, fmt.Errorf("%s: %w: %s", qemuName, err, strings.TrimSpace(stderr.String()))
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

// startPinned starts cmd on one CPU: a child inherits the CPUs of the thread that
// starts it, and all its threads do from there.
func startPinned(cmd *exec.Cmd, n int) error {
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
	err := cmd.Start()
	// A thread that cannot go back is not unlocked, so that nothing else runs on it.
	// It is not ended either: the child would get its death signal.
	if back := unix.SchedSetaffinity(0, &own); back != nil {
		return fmt.Errorf("go back to own CPUs: %w", back)
	}
	runtime.UnlockOSThread()
	return err
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
