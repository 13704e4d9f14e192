package popworld

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/linux/netns"
)

// room is a namespace of the day.
type room struct{ *world.Namespace }

// quiet is set before there are links: nothing on them sends by itself, the kernel does
// not remember earlier connections, and addresses are usable at once.
var quiet = []world.Setting{
	{Key: "net.ipv6.conf.all.accept_dad", Value: "0"},
	{Key: "net.ipv6.conf.default.accept_dad", Value: "0"},
	{Key: "net.ipv6.conf.default.accept_ra", Value: "0"},
	{Key: "net.ipv6.conf.default.router_solicitations", Value: "0"},
	{Key: "net.ipv6.conf.default.addr_gen_mode", Value: "1"}, // no link-local address
	{Key: "net.ipv4.tcp_no_metrics_save", Value: "1"},
}

func newRoom(name string, settings ...world.Setting) (*room, error) {
	n, err := world.Open(name, slices.Concat(quiet, settings)...)
	if err == nil {
		if err = n.NS.Up("lo"); err != nil {
			err = errors.Join(err, n.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make room %s: %w", name, err)
	}
	return &room{n}, nil
}

// join makes a link between two rooms, up at both ends. Both have the same Ethernet
// address and do not resolve others (NOARP): every packet reaches the other end, and no
// ARP or neighbour discovery is ever lost on a path.
func join(a *room, nameA string, b *room, nameB string) error {
	if err := netns.Veth(a.NS, nameA, b.NS, nameB); err != nil {
		return err
	}
	return errors.Join(a.wire(nameA), b.wire(nameB))
}

var sameMAC = net.HardwareAddr{0x02, 0, 0, 0, 0, 0x01}

func (r *room) wire(name string) error {
	l, err := r.Route.LinkByName(name)
	if err == nil {
		err = errors.Join(r.Route.LinkSetHardwareAddr(l, sameMAC), r.Route.LinkSetARPOff(l), r.Route.LinkSetUp(l))
	}
	if err != nil {
		return fmt.Errorf("wire link %s of %s: %w", name, r.Name, err)
	}
	return nil
}

func (r *room) index(name string) (int, error) {
	l, err := r.Route.LinkByName(name)
	if err != nil {
		return 0, fmt.Errorf("find link %s of %s: %w", name, r.Name, err)
	}
	return l.Attrs().Index, nil
}

// own adds an address to the room.
func (r *room) own(a netip.Addr) error {
	return r.NS.AddAddr("lo", netip.PrefixFrom(a, a.BitLen()))
}
