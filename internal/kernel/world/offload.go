package world

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtool's switches (include/uapi/linux/ethtool.h).
const (
	ethtoolSetTSO = 0x1f
	ethtoolSetGSO = 0x24
)

// segmentationOff makes a link of the calling thread's namespace take single packets:
// the kernel cuts super-packets between the qdisc and the link. Checksums are still
// left to the link, which in a veth means that nobody computes them.
func segmentationOff(link string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("switch segmentation off on %s: %w", link, err)
	}
	defer unix.Close(fd)
	for _, cmd := range []uint32{ethtoolSetTSO, ethtoolSetGSO} {
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
			return fmt.Errorf("switch segmentation off on %s: %w", link, errno)
		}
	}
	return nil
}
