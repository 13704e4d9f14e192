// Package privilege gives up what this process may do and no longer needs.
//
// It gains nothing and decides nothing: its caller says what stays.
//
// Its trap: the kernel holds capabilities for each thread, and Go moves goroutines between
// threads, so every change is made on all threads at once (psx).
package privilege

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Set is a set of capabilities, one bit each (capabilities(7)).
type Set uint64

// Of is the set of some CAP_ numbers.
func Of(caps ...int) (s Set) {
	for _, c := range caps {
		s |= 1 << c
	}
	return s
}

var names = map[int]string{
	unix.CAP_BPF: "CAP_BPF", unix.CAP_PERFMON: "CAP_PERFMON", unix.CAP_NET_ADMIN: "CAP_NET_ADMIN", unix.CAP_SYS_ADMIN: "CAP_SYS_ADMIN",
	unix.CAP_SYS_PTRACE: "CAP_SYS_PTRACE", unix.CAP_DAC_READ_SEARCH: "CAP_DAC_READ_SEARCH",
}

// String lists the names, in the order of the numbers.
func (s Set) String() string {
	if s == 0 {
		return "none"
	}
	var out []string
	for ; s != 0; s &= s - 1 {
		c := bits.TrailingZeros64(uint64(s))
		name := names[c]
		if name == "" {
			name = fmt.Sprintf("capability %d", c)
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// call is what capget and capset take.
type call struct {
	header unix.CapUserHeader
	data   [2]unix.CapUserData // the lower and the upper 32 bits
}

func (c *call) permitted() Set { return Set(c.data[1].Permitted)<<32 | Set(c.data[0].Permitted) }
func (c *call) effective() Set { return Set(c.data[1].Effective)<<32 | Set(c.data[0].Effective) }

func current() (*call, error) {
	c := &call{header: unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}}
	if err := unix.Capget(&c.header, &c.data[0]); err != nil {
		return nil, fmt.Errorf("read capabilities: %w", err)
	}
	return c, nil
}

// Effective is what the calling thread may do.
func Effective() (Set, error) {
	c, err := current()
	if err != nil {
		return 0, err
	}
	return c.effective(), nil
}

// Keep gives up all capabilities but those of want, in every set of every thread, and lets no
// program that is executed later gain one (no_new_privs). It returns those that are left: what
// this process did not have, it does not get.
func Keep(want Set) (left Set, err error) {
	c, err := current()
	if err != nil {
		return 0, err
	}
	left = c.permitted() & want
	// Of the set that bounds later gains, too: while CAP_SETPCAP is there to do so.
	if c.effective()&Of(unix.CAP_SETPCAP) != 0 {
		err = bound(left)
	}
	for i := range c.data {
		half := uint32(left >> (32 * i))
		c.data[i] = unix.CapUserData{Effective: half, Permitted: half} // without inheritable ones there are no ambient ones
	}
	return left, errors.Join(err, set(c), everywhere("set no_new_privs", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1))
}

// bound takes all but left out of the bounding set. The kernel tells how many there are by
// refusing the next.
func bound(left Set) error {
	for c := range 64 {
		in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read bounding set: %w", err)
		}
		if in == 0 || left&Of(c) != 0 {
			continue
		}
		if err := everywhere("lower bounding set", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, uintptr(c)); err != nil {
			return err
		}
	}
	return nil
}

func set(c *call) error {
	var pin runtime.Pinner // a number that is no pointer keeps nothing in place
	pin.Pin(c)
	defer pin.Unpin()
	return everywhere("lower capabilities", unix.SYS_CAPSET, uintptr(unsafe.Pointer(&c.header)), uintptr(unsafe.Pointer(&c.data)))
}

// everywhere makes a system call on all threads.
func everywhere(what string, number, a, b uintptr) error {
	if _, _, errno := psx.Syscall6(number, a, b, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("%s: %w", what, errno)
	}
	return nil
}
