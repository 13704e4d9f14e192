package shape

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtool's switches (include/uapi/linux/ethtool.h).
const (
	getTSO, setTSO = 0x1e, 0x1f
	getGSO, setGSO = 0x23, 0x24
)

// ethtoolValue is struct ethtool_value.
type ethtoolValue struct{ cmd, data uint32 }

func ethtool(link string, v *ethtoolValue) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var req struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		pad  [16]byte // struct ifreq has a union of 24 bytes here
	}
	copy(req.name[:unix.IFNAMSIZ-1], link)
	req.data = unsafe.Pointer(v)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req))); errno != 0 {
		return errno
	}
	return nil
}

// offload reads a switch. A link that has none has it off.
func offload(link string, get uint32) (bool, error) {
	v := ethtoolValue{cmd: get}
	switch err := ethtool(link, &v); err {
	case nil:
		return v.data != 0, nil
	case unix.EOPNOTSUPP:
		return false, nil
	default:
		return false, fmt.Errorf("read offloads of %s: %w", link, err)
	}
}

func setOffload(link string, set uint32, on bool) error {
	v := ethtoolValue{cmd: set}
	if on {
		v.data = 1
	}
	if err := ethtool(link, &v); err != nil {
		return fmt.Errorf("switch offload of %s: %w", link, err)
	}
	return nil
}
