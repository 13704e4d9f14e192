package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrFree means that the process that the lock names does not hold it: it has ended.
var ErrFree = errors.New("no congctl is using this state directory")

// Holder is the process that holds a lock. It is a pidfd, so that a signal reaches
// this process or none, never another one that was given its number since.
type Holder struct {
	PID int
	fd  int
}

// Find returns the process that holds dir/lock, or ErrFree, also for a file that names
// no process. A number in a file
// proves nothing, so it asks the kernel whether that very process has the file open
// with an exclusive lock (/proc/PID/fdinfo, Linux 4.1). It needs root or the same
// user, and Linux 5.3 (pidfd_open); the caller closes the Holder.
func Find(dir string) (*Holder, error) {
	path := filepath.Join(dir, "lock")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrFree
	} else if err != nil {
		return nil, fmt.Errorf("read lock: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return nil, ErrFree // a congctl that writes its number this moment is found the next time
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, ErrFree
	} else if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	h := &Holder{pid, fd}
	// After the pidfd is open: what is found then is said of its process, or that has ended.
	if holds, err := holds(pid, path); err != nil || !holds {
		if err == nil {
			err = ErrFree
		}
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// holds reports whether a process has path open with an exclusive lock.
func holds(pid int, path string) (bool, error) {
	lock, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("read lock: %w", err)
	}
	proc := fmt.Sprintf("/proc/%d/", pid)
	fds, err := os.ReadDir(proc + "fd")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && State(pid) == uncollected {
		return false, nil // it has ended: until its parent collects it, root alone may read that it has no file open
	} else if err != nil {
		return false, fmt.Errorf("read open files of process %d: %w", pid, err)
	}
	for _, fd := range fds {
		if open, err := os.Stat(proc + "fd/" + fd.Name()); err != nil || !os.SameFile(open, lock) {
			continue
		}
		// lock:	1: FLOCK  ADVISORY  WRITE 4100 fe:01:131 0 EOF
		info, _ := os.ReadFile(proc + "fdinfo/" + fd.Name())
		if strings.Contains(string(info), "FLOCK  ADVISORY  WRITE") {
			return true, nil
		}
	}
	return false, nil
}

// Kill ends the process by SIGKILL and waits until it has gone, with everything
// that it held open.
func (h *Holder) Kill(within time.Duration) error {
	if err := unix.PidfdSendSignal(h.fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", h.PID, err)
	}
	until := time.Now().Add(within)
	for {
		ended := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ended, int(max(0, time.Until(until).Milliseconds())))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for process %d: %w", h.PID, err)
		case n == 0:
			return stillThere(h.PID, within, State(h.PID))
		default:
			return nil
		}
	}
}

func stillThere(pid int, within time.Duration, state string) error {
	text := fmt.Sprintf("process %d has SIGKILL pending and ends when the kernel lets it; it has not within %s", pid, within)
	if state != "" {
		text += " (" + state + ")"
	}
	return errors.New(text)
}

// Close lets go of the process; it does not end it.
func (h *Holder) Close() error { return unix.Close(h.fd) }

// BySignal is the State of a process that SIGCONT lets go on.
const BySignal = "stopped by a signal"

const uncollected = "dead, and not yet collected by its parent"

// State returns in words what keeps a process from running: "" if nothing does that
// the kernel knows of.
func State(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(text), ") ") // after the name in brackets
	if state == "" {
		return ""
	}
	return map[byte]string{
		'T': BySignal, 't': "stopped by a debugger", 'D': "in an uninterruptible wait in the kernel", 'Z': uncollected,
	}[state[0]]
}
