package netns

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// with runs fn with a route netlink socket of the namespace.
func (n *NS) with(fn func(*netlink.Handle) error) error {
	h, err := netlink.NewHandleAt(vnetns.NsHandle(n.file.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open netlink in namespace: %w", err)
	}
	defer h.Close()
	return fn(h)
}

// Up sets a link up.
func (n *NS) Up(link string) error {
	return n.with(func(h *netlink.Handle) error {
		l, err := h.LinkByName(link)
		if err == nil {
			err = h.LinkSetUp(l)
		}
		if err != nil {
			return fmt.Errorf("set link %s up: %w", link, err)
		}
		return nil
	})
}

// Veth joins two namespaces by a pair of links, both down. Links die with their
// namespaces.
func Veth(a *NS, nameA string, b *NS, nameB string) error {
	return a.with(func(h *netlink.Handle) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = nameA
		pair := &netlink.Veth{LinkAttrs: attrs, PeerName: nameB, PeerNamespace: netlink.NsFd(b.file.Fd())}
		if err := h.LinkAdd(pair); err != nil {
			return fmt.Errorf("add veth %s-%s: %w", nameA, nameB, err)
		}
		return nil
	})
}

// AddAddr adds an address to a link, with the length of its network. IPv6 skips
// duplicate address detection (nodad), which would hold it back for a second.
func (n *NS) AddAddr(link string, addr netip.Prefix) error {
	return n.with(func(h *netlink.Handle) error {
		l, err := h.LinkByName(link)
		if err == nil {
			a := &netlink.Addr{IPNet: ipNet(addr)}
			if addr.Addr().Is6() {
				a.Flags |= unix.IFA_F_NODAD
			}
			err = h.AddrAdd(l, a)
		}
		if err != nil {
			return fmt.Errorf("add address %s to %s: %w", addr, link, err)
		}
		return nil
	})
}

// Route is a route directly out of a link.
type Route struct {
	To   netip.Prefix
	Src  netip.Addr
	Cong string // congestion control of connections on this route (`congctl`)
}

// AddRoute adds a route out of link.
func (n *NS) AddRoute(link string, r Route) error {
	return n.with(func(h *netlink.Handle) error {
		l, err := h.LinkByName(link)
		if err == nil {
			nr := &netlink.Route{LinkIndex: l.Attrs().Index, Dst: ipNet(r.To), Congctl: r.Cong, Scope: netlink.SCOPE_LINK}
			if r.Src.IsValid() {
				nr.Src = r.Src.AsSlice()
			}
			err = h.RouteAdd(nr)
		}
		if err != nil {
			return fmt.Errorf("add route to %s through %s: %w", r.To, link, err)
		}
		return nil
	})
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Service addresses of an edge: documentation ranges (RFC 5737, RFC 3849).
var (
	EdgeAddr4 = netip.MustParseAddr("192.0.2.1")
	EdgeAddr6 = netip.MustParseAddr("2001:db8:ffff::1")
)
