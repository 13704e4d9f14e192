package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"

	"github.com/congctl/congctl/internal/linux/nsthread"
	"github.com/congctl/congctl/internal/tcp/record"
	"golang.org/x/sys/unix"
)

// NS is a network namespace, held by an open file. Close it.
type NS struct{ file *os.File }

// Anonymous makes a namespace without a name: it ends with the last descriptor,
// socket or process in it, so that even a killed test leaves nothing behind.
func Anonymous() (*NS, error) {
	n := &NS{}
	err := nsthread.Keep(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("create network namespace: %w (needs root)", err)
		}
		f, err := os.Open(nsthread.Own)
		if err != nil {
			return fmt.Errorf("create network namespace: %w", err)
		}
		n.file = f
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Current opens the namespace of the calling process.
func Current() (*NS, error) {
	f, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("open network namespace: %w", err)
	}
	return &NS{file: f}, nil
}

// Close lets go of the namespace. The kernel ends it when no process and no socket
// is left inside. Idempotent.
func (n *NS) Close() error {
	if n.file != nil {
		n.file.Close()
		n.file = nil
	}
	return nil
}

// Path is an absolute path at which the namespace can be opened by this process.
func (n *NS) Path() string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd())
}

// Do runs fn inside the namespace, on a thread of its own. See the package's trap.
func (n *NS) Do(fn func() error) error {
	if n.file == nil {
		return errors.New("enter network namespace: closed")
	}
	return nsthread.Run(int(n.file.Fd()), fn)
}

// ID is the kernel's cookie of the namespace (SO_NETNS_COOKIE, 5.14), the key that
// records and eBPF use.
func (n *NS) ID() (id record.NetnsID, err error) {
	err = n.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
		id = record.NetnsID(cookie)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read namespace cookie: %w", err)
	}
	return id, nil
}

// Start starts cmd inside the namespace.
func (n *NS) Start(cmd *exec.Cmd) error {
	if err := n.Do(cmd.Start); err != nil {
		return fmt.Errorf("start %s in network namespace: %w", cmd.Path, err)
	}
	return nil
}

// Listen announces on an address of the namespace; the listener and its connections can be
// used from anywhere. lc may be nil.
func (n *NS) Listen(ctx context.Context, lc *net.ListenConfig, addr netip.AddrPort) (l net.Listener, err error) {
	if lc == nil {
		lc = &net.ListenConfig{}
	}
	err = n.Do(func() (err error) {
		l, err = lc.Listen(ctx, "tcp", addr.String())
		return err
	})
	return l, err
}

// Dial connects from the namespace. local may be the zero value: any address. The address
// is a literal, which avoids the resolver and its goroutines.
func (n *NS) Dial(ctx context.Context, local netip.Addr, to netip.AddrPort) (c net.Conn, err error) {
	var d net.Dialer
	if local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
	}
	err = n.Do(func() (err error) {
		c, err = d.DialContext(ctx, "tcp", to.String())
		return err
	})
	return c, err
}
