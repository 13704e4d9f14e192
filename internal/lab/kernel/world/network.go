package world

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/netns"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// node is a namespace with its netlink sockets.
type node struct {
	name  string
	ns    *netns.NS
	route *netlink.Handle
	tc    *qdisc.Conn
	links []link // to the nodes before and behind it
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
func addrOf(net int, far bool) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 18, byte(net), 1 + b2i(far)})
}

func macOf(far bool) net.HardwareAddr { return []byte{0x02, 0, 0, 0, 0, 1 + b2i(far)} }

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

var (
	srvAddr = addrOf(0, false)
	cliAddr = addrOf(2, true)
)

// buildNetwork makes what the plan says. On a failure nothing is left.
func buildNetwork(p *plan) (*network, error) {
	w := &network{}
	if err := w.build(p); err != nil {
		return nil, errors.Join(fmt.Errorf("build network: %w", err), w.Close())
	}
	return w, nil
}

func (w *network) build(p *plan) error {
	for _, name := range nodes {
		n, err := newNode(name)
		if err != nil {
			return err
		}
		w.nodes = append(w.nodes, n)
	}
	for i := range len(nodes) - 1 {
		if err := w.join(p, i); err != nil {
			return err
		}
	}
	for i, n := range w.nodes {
		if err := n.prepare(p, i); err != nil {
			return fmt.Errorf("node %s: %w", n.name, err)
		}
	}
	for i := range p.places {
		if err := w.put(&p.places[i]); err != nil {
			return err
		}
	}
	return nil
}

func newNode(name string) (n *node, err error) {
	n = &node{name: name}
	if n.ns, err = netns.Anonymous(); err != nil {
		return nil, err
	}
	err = n.ns.Do(func() (err error) {
		if n.route, err = netlink.NewHandle(unix.NETLINK_ROUTE); err == nil {
			n.tc, err = qdisc.Open()
		}
		return errors.Join(err, apply(quiet))
	})
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *node) close() error {
	if n.tc != nil {
		n.tc.Close()
	}
	if n.route != nil {
		n.route.Close()
	}
	return n.ns.Close()
}

// Close ends the namespaces and all in them.
func (w *network) Close() (err error) {
	for _, n := range w.nodes {
		err = errors.Join(err, n.close())
	}
	return err
}

func (w *network) node(name string) *node { return w.nodes[slices.Index(nodes, name)] }

// join makes the i-th link: one queue at each end, since a qdisc at the root of a link
// with several is shared by locking.
func (w *network) join(p *plan, i int) error {
	a, b := w.nodes[i], w.nodes[i+1]
	peer, err := os.Open(b.ns.Path())
	if err != nil {
		return fmt.Errorf("join %s and %s: %w", a.name, b.name, err)
	}
	defer peer.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = b.name, p.mtu, macOf(false)
	attrs.NumTxQueues, attrs.NumRxQueues = 1, 1
	if p.txQueue > 0 && a.name == bn {
		attrs.TxQLen = p.txQueue
	}
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerMTU, veth.PeerHardwareAddr = a.name, uint32(p.mtu), macOf(true)
	veth.PeerNumTxQueues, veth.PeerNumRxQueues = 1, 1
	veth.PeerNamespace = netlink.NsFd(peer.Fd())
	if err := a.route.LinkAdd(veth); err != nil {
		return fmt.Errorf("join %s and %s: %w", a.name, b.name, err)
	}
	return errors.Join(a.wire(b.name, i, false), b.wire(a.name, i, true))
}

// wire gives one end its address and its neighbour, so that no ARP is sent.
func (n *node) wire(name string, i int, far bool) error {
	l, err := n.route.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find link %s of %s: %w", name, n.name, err)
	}
	index := l.Attrs().Index
	n.links = append(n.links, link{name, index})
	here, there := addrOf(i, far), addrOf(i, !far)
	err = errors.Join(
		n.route.AddrAdd(l, &netlink.Addr{IPNet: ipNet(here, 24)}),
		n.route.LinkSetUp(l),
		n.route.NeighAdd(&netlink.Neigh{LinkIndex: index, Family: unix.AF_INET, State: netlink.NUD_PERMANENT,
			IP: there.AsSlice(), HardwareAddr: macOf(!far)}))
	if err != nil {
		return fmt.Errorf("wire link %s of %s: %w", name, n.name, err)
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
	if err := n.ns.Do(func() error { return apply(settings) }); err != nil {
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
	r := &netlink.Route{Dst: ipNet(addrOf(to, false).Prev(), 24)}
	switch {
	case to > i:
		r.Gw, r.LinkIndex = addrOf(i, true).AsSlice(), n.link(nodes[i+1])
	case to < i-1:
		r.Gw, r.LinkIndex = addrOf(i-1, false).AsSlice(), n.link(nodes[i-1])
	default:
		return nil
	}
	if err := n.route.RouteAdd(r); err != nil {
		return fmt.Errorf("add route to %s: %w", r.Dst, err)
	}
	return nil
}

// limitSegments is for the sender: see plan.
func (n *node) limitSegments(p *plan) error {
	index := n.link(bn)
	if p.segment {
		if err := n.ns.Do(func() error { return segmentationOff(bn) }); err != nil {
			return err
		}
	}
	if !p.oneByOne {
		return nil
	}
	l, err := n.route.LinkByIndex(index)
	if err == nil {
		err = n.route.LinkSetGSOMaxSegs(l, 1)
	}
	if err != nil {
		return fmt.Errorf("set gso_max_segs of %s: %w", bn, err)
	}
	return nil
}

// put places one qdisc.
func (w *network) put(at *place) error {
	n := w.node(at.node)
	if err := n.tc.Replace(n.tcAt(at), at.spec); err != nil {
		return fmt.Errorf("node %s, link %s: %w", at.node, at.link, err)
	}
	return nil
}

func (n *node) tcAt(at *place) qdisc.At {
	a := qdisc.At{Link: n.link(at.link), Parent: qdisc.Root, Handle: qdisc.Handle(at.major)}
	if at.parent != 0 {
		a.Parent = qdisc.Child(qdisc.Handle(at.parent))
	}
	return a
}

// quiet is set before there are links: without IPv6 nothing on them talks by itself
// (router and listener discovery).
var quiet = []setting{{"net.ipv6.conf.all.disable_ipv6", "1"}}

// apply writes sysctls of the calling thread's namespace. IPv6 may be compiled out.
func apply(settings []setting) error {
	for _, s := range settings {
		err := os.WriteFile(procSys(s.key), []byte(s.value), 0)
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(s.key, "net.ipv6.")) {
			return fmt.Errorf("set sysctl %s=%s: %w", s.key, s.value, err)
		}
	}
	return nil
}

func procSys(key string) string {
	return filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
}
