package route

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

// Routes do not say whose they are, so a name does that their owner alone has. That of an abstract
// unix socket fits: each network namespace has its own, and it goes with its process.
var name = &net.UnixAddr{Name: "@congctl-route", Net: "unix"}

// ErrSecond means that another congctl treats by routes here.
var ErrSecond = errors.New("another congctl treats by routes in this network namespace")

// Alone refuses where another congctl treats by routes in the network namespace of the calling
// thread: its routes and those that an ended one left are alike, and [Clear] would remove both.
// Any user can take a name: only one of root, or of this process's user, counts.
func Alone() error {
	c, err := net.DialUnix("unix", nil, name)
	if err != nil {
		return nil // free; or another user's, who answers none
	}
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("look for another router: %w", err)
	}
	var owner *unix.Ucred
	if e := raw.Control(func(fd uintptr) { owner, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil || err != nil {
		return fmt.Errorf("look for another router: %w", errors.Join(e, err))
	}
	if !plainfile.Owned(owner.Uid) {
		return nil
	}
	return fmt.Errorf("%w (pid %d); end it first: congctl stop --force with its configuration", ErrSecond, owner.Pid)
}

// claim takes the name until it is let go of.
func claim() (letGo func(), err error) {
	l, err := net.ListenUnix("unix", name)
	if errors.Is(err, unix.EADDRINUSE) {
		return func() {}, Alone()
	} else if err != nil {
		return func() {}, fmt.Errorf("take the name %s: %w", name, err)
	}
	return func() { l.Close() }, nil
}
