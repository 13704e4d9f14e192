package popworld

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
)

// dialer makes the clients' sockets. A socket belongs to the namespace where it was
// made; from then on any thread can use it. So they are made ahead, many at a visit.
type dialer struct {
	ns *netns.NS

	mu    sync.Mutex    // guards spare
	spare map[int][]int // by family
}

// ahead sockets are made at a visit: a thousand are two megabytes of the kernel's memory.
const ahead = 64

func newDialer(ns *netns.NS) *dialer { return &dialer{ns: ns, spare: map[int][]int{}} }

func (d *dialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, all := range d.spare {
		for _, fd := range all {
			unix.Close(fd)
		}
	}
	clear(d.spare)
}

// take returns a new socket of a family.
func (d *dialer) take(family int) (fd int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.spare[family]) == 0 {
		if err := d.ns.Do(func() error { return d.stock(family) }); err != nil {
			return -1, err
		}
	}
	last := len(d.spare[family]) - 1
	fd, d.spare[family] = d.spare[family][last], d.spare[family][:last]
	return fd, nil
}

func (d *dialer) stock(family int) error {
	for range ahead {
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("make socket: %w", err)
		}
		d.spare[family] = append(d.spare[family], fd)
	}
	return nil
}

// socket is a connected socket whose Read and Write wait without holding a thread.
type socket struct {
	file *os.File
	silent
	local netip.AddrPort
	lowat int
}

func (s *socket) Close() error { return s.file.Close() }

const dialWithin = 60 * time.Second

// dial connects from an address of a client. rcvbuf 0 is the kernel's own.
func (d *dialer) dial(from netip.Addr, to netip.AddrPort, rcvbuf int) (s *socket, err error) {
	fd, err := d.start(from, to, rcvbuf)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	s = &socket{file: os.NewFile(uintptr(fd), "client"), lowat: 1}
	if s.silent, err = silently(s.file); err == nil {
		err = s.connected()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dial: %w", err), s.Close())
	}
	return s, nil
}

// start begins to connect.
func (d *dialer) start(from netip.Addr, to netip.AddrPort, rcvbuf int) (fd int, err error) {
	family := unix.AF_INET
	if from.Is6() {
		family = unix.AF_INET6
	}
	if fd, err = d.take(family); err != nil {
		return -1, err
	}
	if rcvbuf > 0 { // before the handshake, which tells the window's scale
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, rcvbuf)
	}
	if err == nil {
		err = errors.Join(
			unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1),
			unix.Bind(fd, sockaddr(netip.AddrPortFrom(from, 0))))
	}
	if err == nil {
		if err = unix.Connect(fd, sockaddr(to)); errors.Is(err, unix.EINPROGRESS) {
			err = nil
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
}

// connected waits for the handshake.
func (s *socket) connected() error {
	if err := s.file.SetDeadline(time.Now().Add(dialWithin)); err != nil {
		return err
	}
	var failed error
	err := s.raw.Write(func(fd uintptr) (done bool) {
		code, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = unix.Errno(code)
		}
		if err != nil {
			failed = err
			return true
		}
		if _, err := unix.Getpeername(int(fd)); err != nil {
			return false // still on its way
		}
		own, err := unix.Getsockname(int(fd))
		s.local, failed = addrOf(own), err
		return true
	})
	return errors.Join(err, failed)
}

func addrOf(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}
