package world

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/qdisc"
)

// node is a namespace, and its links to the nodes before and behind it.
type node struct {
	*Namespace
	links []link
}

type link struct {
	name  string
	index int
}

func (n *node) link(name string) int {
	i := slices.IndexFunc(n.links, func(l link) bool { return l.name == name })
	return n.links[i].index // links of the plan exist
}

// network is the four nodes in a row. Close it.
type network struct{ nodes []*node }

// Addresses: the i-th link has 198.18.i.0/24 (RFC 2544's range for benchmarks), its end
// nearer to the sender .1, the other .2. Ethernet addresses are the same on each link,
// so that a frame may go all the way (shortcut.go).
func addrOf(net int, e end) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(net), byte(e)}) }

func macOf(e end) net.HardwareAddr { return []byte{0x02, 0, 0, 0, 0, byte(e)} }

type end byte

const near, far end = 1, 2

func (e end) other() end { return near + far - e }

var (
	srvAddr = addrOf(0, near)
	cliAddr = addrOf(2, far)
)

// buildNetwork builds the plan. On a failure nothing is left.
func buildNetwork(p *plan) (*network, error) {
	w := &network{}
	if err := w.build(p); err != nil {
		return nil, errors.Join(fmt.Errorf("build network: %w", err), w.Close())
	}
	return w, nil
}

func (w *network) build(p *plan) error {
	for _, name := range nodes {
		n, err := Open(name, quiet...)
		if err != nil {
			return err
		}
		w.nodes = append(w.nodes, &node{Namespace: n})
	}
	for i := range len(nodes) - 1 {
		if err := w.join(p, i); err != nil {
			return err
		}
	}
	for i, n := range w.nodes {
		if err := n.prepare(p, i); err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	for i := range p.places {
		if err := w.put(&p.places[i]); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the namespaces and all in them.
func (w *network) Close() (err error) {
	for _, n := range w.nodes {
		err = errors.Join(err, n.Close())
	}
	return err
}

func (w *network) node(name string) *node { return w.nodes[slices.Index(nodes, name)] }

// join makes the i-th link: one queue at each end, since a qdisc at the root of a link
// with several is shared by locking.
func (w *network) join(p *plan, i int) error {
	a, b := w.nodes[i], w.nodes[i+1]
	peer, err := os.Open(b.NS.Path())
	if err != nil {
		return fmt.Errorf("join %s and %s: %w", a.Name, b.Name, err)
	}
	defer peer.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = b.Name, p.mtu, macOf(near)
	attrs.NumTxQueues, attrs.NumRxQueues = 1, 1
	if p.txQueue > 0 && a.Name == bn {
		attrs.TxQLen = p.txQueue
	}
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerMTU, veth.PeerHardwareAddr = a.Name, uint32(p.mtu), macOf(far)
	veth.PeerNumTxQueues, veth.PeerNumRxQueues = 1, 1
	veth.PeerNamespace = netlink.NsFd(peer.Fd())
	if err := a.Route.LinkAdd(veth); err != nil {
		return fmt.Errorf("join %s and %s: %w", a.Name, b.Name, err)
	}
	return errors.Join(a.wire(b.Name, i, near), b.wire(a.Name, i, far))
}

// wire sets one end's address and its neighbour, so that no ARP is sent.
func (n *node) wire(name string, i int, e end) error {
	l, err := n.Route.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find link %s of %s: %w", name, n.Name, err)
	}
	index := l.Attrs().Index
	n.links = append(n.links, link{name, index})
	here, there := addrOf(i, e), addrOf(i, e.other())
	err = errors.Join(
		n.Route.AddrAdd(l, &netlink.Addr{IPNet: ipNet(here, 24)}),
		n.Route.LinkSetUp(l),
		n.Route.NeighAdd(&netlink.Neigh{LinkIndex: index, Family: unix.AF_INET, State: netlink.NUD_PERMANENT,
			IP: there.AsSlice(), HardwareAddr: macOf(e.other())}))
	if err != nil {
		return fmt.Errorf("wire link %s of %s: %w", name, n.Name, err)
	}
	return nil
}

func ipNet(a netip.Addr, bits int) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(bits, 32)}
}

// prepare sets sysctls, routes and offloads of the i-th node.
func (n *node) prepare(p *plan, i int) error {
	settings := p.routers
	if i == 0 || i == len(nodes)-1 {
		settings = p.ends
	}
	if err := n.NS.Do(func() error { return apply(settings) }); err != nil {
		return err
	}
	for to := range len(nodes) - 1 { // the i-th node has links i-1 and i
		if err := n.routeTo(to, i); err != nil {
			return err
		}
	}
	switch i {
	case 0:
		return n.limitSegments(p)
	case len(nodes) - 1:
		return nil
	}
	return n.shorten(p)
}

func (n *node) routeTo(to, i int) error {
	r := &netlink.Route{Dst: ipNet(addrOf(to, near).Prev(), 24)}
	switch {
	case to > i:
		r.Gw, r.LinkIndex = addrOf(i, far).AsSlice(), n.link(nodes[i+1])
	case to < i-1:
		r.Gw, r.LinkIndex = addrOf(i-1, near).AsSlice(), n.link(nodes[i-1])
	default:
		return nil
	}
	if err := n.Route.RouteAdd(r); err != nil {
		return fmt.Errorf("add route to %s: %w", r.Dst, err)
	}
	return nil
}

// limitSegments is for the sender: see plan.
func (n *node) limitSegments(p *plan) error {
	index := n.link(bn)
	if p.segment {
		if err := n.NS.Do(func() error { return SegmentationOff(bn) }); err != nil {
			return err
		}
	}
	if !p.oneByOne {
		return nil
	}
	l, err := n.Route.LinkByIndex(index)
	if err == nil {
		err = n.Route.LinkSetGSOMaxSegs(l, 1)
	}
	if err != nil {
		return fmt.Errorf("set gso_max_segs of %s: %w", bn, err)
	}
	return nil
}

func (w *network) put(at *place) error {
	n := w.node(at.node)
	if err := n.TC.Replace(n.tcAt(at), at.spec); err != nil {
		return fmt.Errorf("node %s, link %s: %w", at.node, at.link, err)
	}
	return nil
}

func (n *node) tcAt(at *place) qdisc.At {
	a := qdisc.At{Link: n.link(at.link), Parent: qdisc.Root, Handle: qdisc.Handle(at.major)}
	if at.parent != 0 {
		a.Parent = qdisc.Child(qdisc.Handle(at.parent))
	}
	if at.class != 0 {
		a.Parent = qdisc.Class(qdisc.Handle(at.parent), at.class)
	}
	return a
}

// quiet is set before there are links: without IPv6 nothing on them sends by itself
// (router and listener discovery).
var quiet = []Setting{{"net.ipv6.conf.all.disable_ipv6", "1"}}
