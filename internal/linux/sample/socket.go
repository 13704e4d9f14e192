package sample

// One raw NETLINK_SOCK_DIAG socket with its read buffer. The kernel builds dump
// chunks of at most 32 KiB, so larger reads gain nothing. The socket is connected
// to the kernel: no other process can put messages into it.
//
// Source: netlink_dump(), netlink_recvmsg() in net/netlink/af_netlink.c.

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	readBytes = 32 << 10
	// silence ends a dump whose answer never comes. The kernel answers within
	// microseconds; ten seconds pass only if the end of a dump was lost.
	silence = 10 * time.Second
)

type socket struct {
	fd  int
	buf []byte
	msg unix.Msghdr
	iov unix.Iovec
}

func openSocket() (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket: %w", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("connect netlink socket: %w", err)
	}
	return socketOn(fd, silence)
}

func socketOn(fd int, wait time.Duration) (*socket, error) {
	tv := unix.NsecToTimeval(wait.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("set receive timeout: %w", err)
	}
	s := &socket{fd: fd}
	s.grow(readBytes)
	return s, nil
}

func (s *socket) grow(n int) {
	s.buf = make([]byte, n)
	s.iov.Base = &s.buf[0]
	s.iov.SetLen(n)
	s.msg.Iov = &s.iov
	s.msg.SetIovlen(1)
}

func (s *socket) send(b []byte) error {
	for {
		_, err := unix.Write(s.fd, b)
		if err != unix.EINTR {
			return err
		}
	}
}

// read fills the buffer with one datagram. size is the datagram's own length,
// larger than the buffer where it was cut.
func (s *socket) read() (data []byte, size int, err error) {
	for {
		s.msg.Flags = 0
		n, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.msg)), unix.MSG_TRUNC)
		switch errno {
		case 0:
			return s.buf[:min(int(n), len(s.buf))], int(n), nil
		case unix.EINTR:
		default:
			return nil, 0, errno
		}
	}
}

func (s *socket) close() error { return unix.Close(s.fd) }
