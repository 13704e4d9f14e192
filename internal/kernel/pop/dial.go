package pop

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/netns"
)

// dialer makes the clients' sockets on one thread that stays in their namespace. A
// socket belongs to the namespace where it was made; from then on any thread can use it.
type dialer struct {
	ask  chan call
	quit chan struct{}
}

// call asks for a socket that begins to connect.
type call struct {
	from   netip.Addr
	to     netip.AddrPort
	rcvbuf int
	answer chan answer
}

type answer struct {
	fd  int
	err error
}

func newDialer(ns *netns.NS) *dialer {
	d := &dialer{make(chan call), make(chan struct{})}
	go func() {
		err := ns.Do(func() error { d.serve(start); return nil })
		d.serve(func(netip.Addr, netip.AddrPort, int) (int, error) { return -1, err }) // where the namespace could not be entered
	}()
	return d
}

func (d *dialer) serve(start func(netip.Addr, netip.AddrPort, int) (int, error)) {
	for {
		select {
		case c := <-d.ask:
			fd, err := start(c.from, c.to, c.rcvbuf)
			c.answer <- answer{fd, err}
		case <-d.quit:
			return
		}
	}
}

func (d *dialer) close() { close(d.quit) }

// socket is a connected socket whose Read and Write wait without holding a thread.
type socket struct {
	*os.File
	local netip.AddrPort
	lowat int
}

const dialWithin = 60 * time.Second

// dial connects from an address of a client. rcvbuf 0 is the kernel's own.
func (d *dialer) dial(from netip.Addr, to netip.AddrPort, rcvbuf int) (*socket, error) {
	c := call{from, to, rcvbuf, make(chan answer, 1)}
	select {
	case d.ask <- c:
	case <-d.quit:
		return nil, errors.New("dial: the day is over")
	}
	got := <-c.answer
	if got.err != nil {
		return nil, fmt.Errorf("dial: %w", got.err)
	}
	s := &socket{File: os.NewFile(uintptr(got.fd), "client"), lowat: 1}
	if err := s.connected(); err != nil {
		return nil, errors.Join(fmt.Errorf("dial: %w", err), s.Close())
	}
	return s, nil
}

// start makes a socket and begins to connect.
func start(from netip.Addr, to netip.AddrPort, rcvbuf int) (fd int, err error) {
	family := unix.AF_INET
	if from.Is6() {
		family = unix.AF_INET6
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
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
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	if err := s.SetDeadline(time.Now().Add(dialWithin)); err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) (done bool) {
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
