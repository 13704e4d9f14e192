package host

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtool's questions for one switch each (include/uapi/linux/ethtool.h). They are old
// and answered by every kernel; the newer bit set needs a table of names first.
var offloads = map[string]uint32{"tso": 0x1e, "gso": 0x23, "gro": 0x2b}

// Offloads asks a link of this network namespace which of its offloads are on: tso, gso, gro.
func Offloads(link string) (map[string]bool, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	defer unix.Close(fd)
	on := map[string]bool{}
	for name, cmd := range offloads {
		if on[name], err = askOffload(fd, link, cmd); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", name, link, err)
		}
	}
	return on, nil
}

func askOffload(fd int, link string, cmd uint32) (bool, error) {
	value := [2]uint32{cmd, 0} // struct ethtool_value
	req := struct {            // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		rest [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(req.name[:unix.IFNAMSIZ-1], link)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	runtime.KeepAlive(&value)
	if errno != 0 {
		return false, errno
	}
	return value[1] != 0, nil
}
