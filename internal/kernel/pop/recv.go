package pop

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// recvTrunc takes up to n bytes off a TCP socket without copying them (tcp(7),
// MSG_TRUNC). sink is an address that is never written.
func recvTrunc(fd int, sink *byte, n int) (got int, errno unix.Errno) {
	r, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(sink)), uintptr(n), unix.MSG_TRUNC, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}
