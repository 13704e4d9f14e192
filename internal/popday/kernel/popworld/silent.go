package popworld

import (
	"cmp"
	"io"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// silent reads and writes a socket by raw system calls. An ordinary call after idle time
// wakes the Go runtime's monitor, a thread that then sleeps for 20 us, looks and sleeps
// again: a quarter of all instructions of a day. The runtime does not see a raw call, so
// it must not wait; a non-blocking socket never does.
//
// Source: entersyscallWakeSysmon and sysmon in Go's runtime/proc.go.
type silent struct{ raw syscall.RawConn }

// Read waits for some bytes; io.EOF where there will be none.
func (q silent) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	return q.take(func(fd uintptr) (uintptr, unix.Errno) {
		r, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		return r, errno
	})
}

// discard takes up to n bytes without copying them (tcp(7), MSG_TRUNC).
func (q silent) discard(n int) (got int, err error) {
	return q.take(func(fd uintptr) (uintptr, unix.Errno) {
		r, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&sink)), uintptr(n), unix.MSG_TRUNC, 0, 0)
		return r, errno
	})
}

// sink is an address for the kernel to write nothing to.
var sink byte

// take waits until receive returns data.
func (q silent) take(receive func(fd uintptr) (uintptr, unix.Errno)) (n int, err error) {
	var failed error
	err = q.raw.Read(func(fd uintptr) (done bool) {
		got, errno := receive(fd)
		switch {
		case errno == unix.EAGAIN:
			return false
		case errno != 0:
			failed = errno
		case got == 0:
			failed = io.EOF
		}
		n = int(got)
		return true
	})
	if err = cmp.Or(err, failed); err != nil {
		n = 0
	}
	return n, err
}

// Write waits until the kernel has all of b.
func (q silent) Write(b []byte) (n int, err error) {
	var failed error
	err = q.raw.Write(func(fd uintptr) (done bool) {
		for n < len(b) {
			r, _, errno := unix.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&b[n])), uintptr(len(b)-n))
			switch errno {
			case 0:
				n += int(r)
			case unix.EAGAIN:
				return false
			default:
				failed = errno
				return true
			}
		}
		return true
	})
	return n, cmp.Or(err, failed)
}

// setLowat wakes the reader after that many bytes, not at the first (SO_RCVLOWAT).
func (q silent) setLowat(n int) error {
	var failed error
	err := q.raw.Control(func(fd uintptr) {
		value := int32(n)
		_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value), 0)
		if errno != 0 {
			failed = errno
		}
	})
	return cmp.Or(err, failed)
}

// tcpOption reads an option of a socket into value, raw.
func tcpOption(fd uintptr, option int, value unsafe.Pointer, length uint32) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, uintptr(option), uintptr(value), uintptr(unsafe.Pointer(&length)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// conn is a TCP connection that is read and written silently.
type conn struct {
	net.Conn // all else
	silent
}

func (c *conn) Read(b []byte) (int, error)  { return c.silent.Read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.silent.Write(b) }

// listener accepts such connections.
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(syscall.Conn)
	if !ok {
		return c, nil
	}
	q, err := silently(tcp)
	return &conn{c, q}, err
}

func silently(of syscall.Conn) (silent, error) {
	raw, err := of.SyscallConn()
	return silent{raw}, err
}
