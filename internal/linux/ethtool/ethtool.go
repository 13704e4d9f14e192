// Package ethtool reads and sets a link's offloads, by ethtool's old ioctls for one switch
// each: every kernel answers them, and the newer bit set needs a table of names first.
//
// It knows nothing of why an offload should be on.
//
// Its trap: the link is looked up in the network namespace of the calling thread.
package ethtool

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offload is a switch: the commands that read and set it (include/uapi/linux/ethtool.h).
type Offload struct {
	name     string
	get, set uint32
}

// The offloads that affect what a qdisc sees.
var (
	TSO = Offload{"tso", 0x1e, 0x1f}
	GSO = Offload{"gso", 0x23, 0x24}
	GRO = Offload{"gro", 0x2b, 0x2c}
)

func (o Offload) String() string { return o.name }

// On reports whether an offload of a link is on. The error is the kernel's: EOPNOTSUPP for a
// link that has no such switch.
func (o Offload) On(link string) (bool, error) {
	v := value{cmd: o.get}
	if err := v.ask(link); err != nil {
		return false, fmt.Errorf("read %s of %s: %w", o, link, err)
	}
	return v.data != 0, nil
}

// Set switches an offload of a link on or off. It needs CAP_NET_ADMIN.
func (o Offload) Set(link string, on bool) error {
	v := value{cmd: o.set}
	if on {
		v.data = 1
	}
	if err := v.ask(link); err != nil {
		return fmt.Errorf("switch %s of %s: %w", o, link, err)
	}
	return nil
}

// value is struct ethtool_value.
type value struct{ cmd, data uint32 }

func (v *value) ask(link string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req := struct { // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		rest [16]byte
	}{data: unsafe.Pointer(v)}
	copy(req.name[:unix.IFNAMSIZ-1], link)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	runtime.KeepAlive(v)
	if errno != 0 {
		return errno
	}
	return nil
}
