package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const socketMode = 0o660 // owner and group: any user that may connect may stop the treatment

// announce listens on a unix socket at path. A socket file on which no process answers is
// a leftover, and is replaced; one that answers is [ErrRunning]; anything else at path
// stays.
//
// The socket is made under another name, gets its mode and group, and is renamed: it
// never exists with the wrong ones, and replaces the old one in one step.
func announce(path, group string) (*net.UnixListener, error) {
	if err := checkFree(path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	fresh := fmt.Sprintf("%s.%d", path, os.Getpid())
	_ = os.Remove(fresh) // left by an earlier process with our number
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	if err = own(fresh, group); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		l.Close()
		_ = os.Remove(fresh)
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return l, nil
}

func checkFree(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("exists and is not a socket; move it away or set another `socket`")
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return ErrRunning
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	return err // busy (EAGAIN) also means a live server
}

func own(path, group string) error {
	if err := os.Chmod(path, socketMode); err != nil || group == "" {
		return err
	}
	gid, err := Group(group)
	if err != nil {
		return err
	}
	return os.Chown(path, -1, gid)
}

// Group returns the number of the group of a socket.
func Group(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("give socket to group %s: %w; create it with groupadd or set another `socket_group`", name, err)
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return 0, fmt.Errorf("give socket to group %s: gid %q", name, g.Gid)
	}
	return gid, nil
}

// sameFile reports whether path is still the file of info: another instance may have put
// its own socket there.
func sameFile(path string, info fs.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && info != nil && os.SameFile(now, info)
}
