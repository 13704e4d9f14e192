package pop

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/netns"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// room is a namespace with its netlink sockets.
type room struct {
	name  string
	ns    *netns.NS
	route *netlink.Handle
	tc    *qdisc.Conn
}

type setting struct{ key, value string }

// quiet is set before there are links: nothing on them talks by itself, nobody
// remembers earlier connections, and addresses are there at once.
var quiet = []setting{
	{"net.ipv6.conf.all.accept_dad", "0"}, {"net.ipv6.conf.default.accept_dad", "0"},
	{"net.ipv6.conf.default.accept_ra", "0"}, {"net.ipv6.conf.default.router_solicitations", "0"},
	{"net.ipv6.conf.default.addr_gen_mode", "1"}, // no link-local address
	{"net.ipv4.tcp_no_metrics_save", "1"},
}

func newRoom(name string, settings ...setting) (r *room, err error) {
	r = &room{name: name}
	if r.ns, err = netns.Anonymous(); err != nil {
		return nil, err
	}
	err = r.ns.Do(func() (err error) {
		if r.route, err = netlink.NewHandle(unix.NETLINK_ROUTE); err == nil {
			r.tc, err = qdisc.Open()
		}
		return errors.Join(err, apply(quiet), apply(settings))
	})
	if err == nil {
		err = r.ns.Up("lo")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make room %s: %w", name, err), r.close())
	}
	return r, nil
}

func (r *room) close() error {
	if r.tc != nil {
		r.tc.Close()
	}
	if r.route != nil {
		r.route.Close()
	}
	return r.ns.Close()
}

// apply writes sysctls of the calling thread's namespace.
func apply(settings []setting) error {
	for _, s := range settings {
		path := filepath.Join("/proc/sys", strings.ReplaceAll(s.key, ".", "/"))
		if err := os.WriteFile(path, []byte(s.value), 0); err != nil {
			return fmt.Errorf("set sysctl %s=%s: %w", s.key, s.value, err)
		}
	}
	return nil
}

// join makes a link between two rooms, up at both ends. Both have the same Ethernet
// address and ask nobody for another (NOARP): every packet reaches the other end, and no
// ARP or neighbour discovery is ever lost on a path.
func join(a *room, nameA string, b *room, nameB string) error {
	if err := netns.Veth(a.ns, nameA, b.ns, nameB); err != nil {
		return err
	}
	return errors.Join(a.wire(nameA), b.wire(nameB))
}

var sameMAC = net.HardwareAddr{0x02, 0, 0, 0, 0, 0x01}

func (r *room) wire(name string) error {
	l, err := r.route.LinkByName(name)
	if err == nil {
		err = errors.Join(r.route.LinkSetHardwareAddr(l, sameMAC), r.route.LinkSetARPOff(l), r.route.LinkSetUp(l))
	}
	if err != nil {
		return fmt.Errorf("wire link %s of %s: %w", name, r.name, err)
	}
	return nil
}

func (r *room) index(name string) (int, error) {
	l, err := r.route.LinkByName(name)
	if err != nil {
		return 0, fmt.Errorf("find link %s of %s: %w", name, r.name, err)
	}
	return l.Attrs().Index, nil
}

// own gives the room an address.
func (r *room) own(a netip.Addr) error {
	return r.ns.AddAddr("lo", netip.PrefixFrom(a, a.BitLen()), true)
}
