package limit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/ethtool"
	"github.com/congctl/congctl/internal/linux/qdisc"
	"github.com/congctl/congctl/internal/shape"
)

// ErrNoLink means that no interface has that name.
var ErrNoLink = errors.New("no such interface")

// ErrName means that no interface can have that name.
var ErrName = errors.New("not an interface name")

// ethernetHeader is what tbf counts before the IP packet on all links that we know; a tunnel
// without one is counted 14 bytes too long, which only makes the bucket larger.
const ethernetHeader = 14

// Names lists the links of this namespace except the loopback.
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

// maxAltName is the longest altname (ALTIFNAMSIZ, with a zero byte), in bytes.
const maxAltName = 127

// Read reads everything about a link that a plan needs.
func Read(name string) (shape.Link, error) {
	l, err := find(name)
	if err != nil {
		return shape.Link{}, err
	}
	a := l.Attrs()
	out := shape.Link{Name: a.Name, Index: a.Index, MTU: shape.Size(a.MTU), HeaderBytes: ethernetHeader,
		Up: a.RawFlags&unix.IFF_UP != 0, Loopback: a.RawFlags&unix.IFF_LOOPBACK != 0, Timer: timer()}
	if out.Kernel, err = release(); err != nil {
		return out, err
	}
	if out.TSO, err = isOn(ethtool.TSO, a.Name); err != nil {
		return out, err
	}
	if out.GSO, err = isOn(ethtool.GSO, a.Name); err != nil {
		return out, err
	}
	return out, withConn(func(c *qdisc.Conn) error {
		all, err := c.List(a.Index)
		for _, s := range all {
			if s.At.Parent == qdisc.Root && err == nil {
				out.Root, err = branch(c, s, all)
			}
			out.Ingress = out.Ingress || s.Kind == "ingress" || s.Kind == "clsact"
		}
		return err
	})
}

// find finds a link by its name or by an altname.
func find(name string) (netlink.Link, error) {
	wrong := fmt.Errorf("interface %q: %w: 1 to 15 characters, an altname up to %d, without / or spaces; ip link lists them", name, ErrName, maxAltName)
	if name == "" || len(name) > maxAltName || strings.ContainsAny(name, "/ \t\n") {
		return nil, wrong
	}
	l, err := netlink.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		if len(name) >= unix.IFNAMSIZ {
			return nil, wrong
		}
		return nil, fmt.Errorf("interface %q: %w; ip link lists them", name, ErrNoLink)
	}
	if err != nil {
		return nil, fmt.Errorf("read interface %q: %w", name, err)
	}
	return l, nil
}

func onLink(name string, fn func(c *qdisc.Conn, index int) error) error {
	l, err := find(name)
	if err != nil {
		return err
	}
	return withConn(func(c *qdisc.Conn) error { return fn(c, l.Attrs().Index) })
}

func withConn(fn func(*qdisc.Conn) error) error {
	c, err := qdisc.Open()
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c)
}

// branch assembles what is below a qdisc. It asks for the filters of those that can have any: a handle or
// the root's place names them.
func branch(c *qdisc.Conn, s qdisc.Stat, all []qdisc.Stat) (q shape.Qdisc, err error) {
	q = shape.Qdisc{Kind: s.Kind, Handle: uint16(s.At.Handle >> 16), Sized: len(s.Stab) > 0, Lost: s.Lost,
		Sent: s.Bytes, Packets: s.Packets, Dropped: s.Drops, Overlimits: s.Overlimits, Backlog: s.QueueBytes}
	if s.Kind == "tbf" {
		t, err := qdisc.ReadTbf(s.Options)
		if err != nil {
			return q, err
		}
		bucket := fromKernel(t)
		q.Tbf, q.Peak, q.PeakBurst = &bucket, shape.Rate(t.PeakBytesPerS*8), shape.Size(t.PeakBurstBytes)
	}
	if q.Handle != 0 || s.At.Parent == qdisc.Root {
		filters, err := c.Filters(s.At.Link, qdisc.Handle(q.Handle))
		if err != nil {
			return q, err
		}
		q.Filters = len(filters) > 0
	}
	for _, b := range all {
		if !below(s, b) {
			continue
		}
		sub, err := branch(c, b, all)
		if err != nil {
			return q, err
		}
		q.Below = append(q.Below, sub)
	}
	return q, nil
}

// below reports whether b is below s. The kernel's own have handle 0, so below those only a
// root can have leaves, each with its own parent.
func below(s, b qdisc.Stat) bool {
	if b.At.Parent == qdisc.Root || b.At.Parent>>16 != s.At.Handle>>16 {
		return false
	}
	return s.At.Handle != 0 || s.At.Parent == qdisc.Root
}

// release returns major and minor of the running kernel.
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
func timer() shape.Timer {
	var res unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC, &res); err != nil {
		return shape.Timer{}
	}
	if res.Nano() <= 1 {
		return shape.Timer{HighRes: true}
	}
	return shape.Timer{HZ: int(1e9 / res.Nano())}
}
