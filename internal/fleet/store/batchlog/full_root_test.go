package batchlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullDisk: in a mount namespace of the child's own, on a tmpfs of 1 MB.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: mounts a tmpfs in a mount namespace of its own; minimum kernel 2.6.16")
	}
	cmd := childOf(t, "full", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "went on") {
		t.Fatalf("%s: %v", out, err)
	}
	t.Logf("%s", out)
}

func fillDisk(dir string) error {
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		return err
	}
	l, err := Open(Options{Dir: filepath.Join(dir, "spool"), MaxBytes: 64 << 20, SegmentBytes: 200 << 10})
	if err != nil {
		return err
	}
	taken, refused := uint64(0), uint64(0)
	for n := range uint64(100) {
		switch err := l.Append(frameOf(n+1, 10, 30_000)); {
		case err == nil:
			taken++
		case errors.Is(err, unix.ENOSPC):
			refused++
		default:
			return fmt.Errorf("append to a full disk: %w", err)
		}
	}
	if batches, records := l.Dropped(); taken < 20 || refused < 50 || batches != refused || records != 10*refused {
		return fmt.Errorf("%d taken, %d refused, %d and %d counted", taken, refused, batches, records)
	}
	// What was taken is whole, delivering it makes room, and the log goes on.
	for n := range taken {
		frame, err := l.Next()
		if err != nil || sequenceOf(body(frame)) != n+1 {
			return fmt.Errorf("batch %d: %w", n+1, err)
		}
		if err := l.Delivered(); err != nil {
			return fmt.Errorf("deliver on a full disk: %w", err)
		}
	}
	if err := l.Append(frameOf(500, 10, 30_000)); err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	l, err = Open(childOptions(filepath.Join(dir, "spool")))
	if err != nil {
		return err
	}
	frame, err := l.Next()
	if err != nil || sequenceOf(body(frame)) != 500 || l.Counts().TornBytes != 0 {
		return fmt.Errorf("after a restart %+v: %w", l.Counts(), err)
	}
	fmt.Printf("%d taken, %d refused, and it went on\n", taken, refused)
	return nil
}
