package guest

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func ioctl(fd int, request uint, argument []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(unsafe.SliceData(argument))))
	if errno != 0 {
		return errno
	}
	return nil
}
