// Package instance holds the lock that lets one congctl loop run on a state
// directory.
//
// It guards no data: SQLite does that for the store.
//
// Its trap: the lock belongs to the open file, so the kernel drops it with the
// process, kill -9 included; the file that is left behind means nothing.
package instance

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrRunning means that another process holds the lock.
var ErrRunning = errors.New("another congctl is using this state directory")

// Lock is held until it is released or the process ends.
type Lock struct{ f *os.File }

// Acquire takes dir/lock without waiting. The error wraps ErrRunning and names
// the other process when one holds it.
func Acquire(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w (pid %s)", dir, ErrRunning, strings.TrimSpace(string(holder)))
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := errors.Join(f.Truncate(0), writePID(f)); err != nil {
		f.Close()
		return nil, fmt.Errorf("write lock: %w", err)
	}
	return &Lock{f}, nil
}

func writePID(f *os.File) error {
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// Held reports whether the lock is still the one at its path: whoever deletes the file, or its
// directory, lets another process take a lock of the same name.
func (l *Lock) Held() error {
	now, err := os.Stat(l.f.Name())
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if was, err := l.f.Stat(); err != nil || !os.SameFile(was, now) {
		return errors.Join(fmt.Errorf("lock %s: another file is there", l.f.Name()), err)
	}
	return nil
}

// Release lets another process take the lock.
func (l *Lock) Release() error { return l.f.Close() }
