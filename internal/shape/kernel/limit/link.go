package shape

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/shaping"
	"github.com/congctl/congctl/internal/kernel/ethtool"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// ErrNoLink says that there is no interface of a name.
var ErrNoLink = errors.New("no such interface")

// ErrName says that no interface can have a name.
var ErrName = errors.New("no name of an interface")

// ethernetHeader is what tbf counts before the IP packet on all links that we know; a
// tunnel without one is counted 14 bytes too long, which only makes the bucket larger.
const ethernetHeader = 14

// Names lists the links of this namespace but for the loopback.
func Names() (names []string, err error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	for _, l := range links {
		if l.Attrs().Flags&unix.IFF_LOOPBACK == 0 && l.Attrs().RawFlags&unix.IFF_LOOPBACK == 0 {
			names = append(names, l.Attrs().Name)
		}
	}
	return names, nil
}

// Read reads all that a plan needs to know of a link.
func Read(name string) (shaping.Link, error) {
	l, err := find(name)
	if err != nil {
		return shaping.Link{}, err
	}
	a := l.Attrs()
	out := shaping.Link{Name: name, Index: a.Index, MTU: shaping.Size(a.MTU), HeaderBytes: ethernetHeader,
		Up: a.RawFlags&unix.IFF_UP != 0, Loopback: a.RawFlags&unix.IFF_LOOPBACK != 0, Timer: timer()}
	if out.Kernel, err = release(); err != nil {
		return out, err
	}
	if out.TSO, err = offload(name, ethtool.TSO); err != nil {
		return out, err
	}
	if out.GSO, err = offload(name, ethtool.GSO); err != nil {
		return out, err
	}
	return out, withConn(func(c *qdisc.Conn) error {
		all, err := c.List(a.Index)
		if err != nil {
			return err
		}
		if out.Root, err = tree(all); err == nil {
			err = filtered(c, a.Index, &out.Root)
		}
		out.Ingress = slices.ContainsFunc(all, func(s qdisc.Stat) bool { return s.Kind == "ingress" || s.Kind == "clsact" })
		return err
	})
}

func find(name string) (netlink.Link, error) {
	if name == "" || len(name) >= unix.IFNAMSIZ || strings.ContainsAny(name, "/ \t\n") {
		return nil, fmt.Errorf("interface %q: %w: 1 to 15 characters without / and blanks; ip link lists them", name, ErrName)
	}
	l, err := netlink.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil, fmt.Errorf("interface %q: %w; ip link lists them", name, ErrNoLink)
	}
	if err != nil {
		return nil, fmt.Errorf("read interface %q: %w", name, err)
	}
	return l, nil
}

func withConn(fn func(*qdisc.Conn) error) error {
	c, err := qdisc.Open()
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c)
}

// tree puts what a link sends through together, from its root.
func tree(all []qdisc.Stat) (root shaping.Qdisc, err error) {
	for _, s := range all {
		if s.At.Parent == qdisc.Root {
			return branch(s, all)
		}
	}
	return root, nil
}

// filtered finds the filters of what has a name: the kernel puts none.
func filtered(c *qdisc.Conn, link int, q *shaping.Qdisc) error {
	if q.Handle != 0 {
		all, err := c.Filters(link, qdisc.Handle(q.Handle))
		if err != nil {
			return err
		}
		q.Filters = len(all) > 0
	}
	for i := range q.Below {
		if err := filtered(c, link, &q.Below[i]); err != nil {
			return err
		}
	}
	return nil
}

func branch(s qdisc.Stat, all []qdisc.Stat) (q shaping.Qdisc, err error) {
	q = shaping.Qdisc{Kind: s.Kind, Handle: uint16(s.At.Handle >> 16),
		Sent: s.Bytes, Packets: s.Packets, Dropped: s.Drops, Overlimits: s.Overlimits, Backlog: s.QueueBytes}
	if s.Kind == "tbf" {
		if q.Tbf, err = bucket(s); err != nil {
			return q, err
		}
	}
	for _, b := range all {
		if !below(s, b) {
			continue
		}
		sub, err := branch(b, all)
		if err != nil {
			return q, err
		}
		q.Below = append(q.Below, sub)
	}
	return q, nil
}

// below tells whether b hangs below s. The kernel's own have handle 0, so below those
// only a root can have leaves, each with a parent of its own.
func below(s, b qdisc.Stat) bool {
	if b.At.Parent == qdisc.Root || b.At.Parent>>16 != s.At.Handle>>16 {
		return false
	}
	return s.At.Handle != 0 || s.At.Parent == qdisc.Root
}

func bucket(s qdisc.Stat) (*shaping.Tbf, error) {
	t, err := qdisc.ReadTbf(s.Options)
	if err != nil {
		return nil, err
	}
	return &shaping.Tbf{Rate: shaping.Rate(t.RateBytesPerS * 8), Burst: shaping.Size(t.BurstBytes), Limit: shaping.Size(t.LimitBytes)}, nil
}

// release is major and minor of the running kernel.
func release() (v [2]int, err error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return v, fmt.Errorf("read kernel version: %w", err)
	}
	text := unix.ByteSliceToString(u.Release[:])
	if _, err := fmt.Sscanf(text, "%d.%d", &v[0], &v[1]); err != nil {
		return v, fmt.Errorf("read kernel version %q: %w", text, err)
	}
	return v, nil
}

// timer asks the clock itself: without high-resolution timers it ticks with HZ.
func timer() shaping.Timer {
	var res unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC, &res); err != nil {
		return shaping.Timer{}
	}
	if res.Nano() <= 1 {
		return shaping.Timer{HighRes: true}
	}
	return shaping.Timer{HZ: int(1e9 / res.Nano())}
}
