package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"sync"
)

// A rig is a star: the edge in the middle, one veth pair to each client network.
//
//	client 0 [up]----[c0] edge [c1]----[up] client 1
//
// The edge serves on addresses of its loopback; each client network has one
// prefix, the edge's end has its first address, and the client owns Hosts more,
// from the tenth on. Down shapes what the edge sends to the client (its link c0),
// Up what the client sends (its link up).

// Service addresses of the edge: documentation ranges (RFC 5737, RFC 3849).
var (
	EdgeAddr4 = netip.MustParseAddr("192.0.2.1")
	EdgeAddr6 = netip.MustParseAddr("2001:db8:ffff::1")
)

// ClientNet4 is the i-th /24 of 198.18.0.0/15, the range for benchmarks (RFC 2544):
// public-looking, and nobody's. i is below 512.
func ClientNet4(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + i>>8), byte(i), 0}), 24)
}

// ClientNet6 is the i-th /56 of 2001:db8::/40, for documentation (RFC 3849). i is
// below 65536.
func ClientNet6(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, byte(i >> 8), byte(i)}), 56)
}

// Spec says what to build.
type Spec struct {
	// Tag names namespaces and the cgroup congctl-TAG-PID-..., for `ip netns exec`
	// and Sweep. "" makes all anonymous, and no cgroup.
	Tag     string
	Clients []Client
	// EdgeCong is the edge's default congestion control, "" what the kernel gives a
	// new namespace. Where the kernel lets no namespace default to it, the routes to
	// the clients carry it.
	EdgeCong string
}

// Client is one client network.
type Client struct {
	Prefix   netip.Prefix // /24 or /56
	Hosts    int          // addresses; 0: 4
	Down, Up Shape
}

// Rig is what was built. Close it.
type Rig struct {
	Edge    *NS
	Cgroup  *Cgroup // nil without a tag
	Clients []Network
	// EdgeCongBy says how EdgeCong came into force: "sysctl", "route", or "" when none was wanted.
	EdgeCongBy string

	mu    sync.Mutex // guards procs and done
	procs []*exec.Cmd
	done  bool
}

// Network is a client network of a rig.
type Network struct {
	*NS
	Prefix netip.Prefix
	Edge   netip.Addr   // the edge's end of the link
	Addrs  []netip.Addr // the client's own
	Server netip.Addr   // the edge's service address of this family
}

const defaultHosts, firstHost = 4, 10

// Build builds a rig. On a failure it leaves nothing behind.
func Build(s Spec) (*Rig, error) {
	r := &Rig{}
	if err := r.build(s); err != nil {
		return nil, errors.Join(fmt.Errorf("build rig: %w", err), r.Close())
	}
	return r, nil
}

func (r *Rig) build(s Spec) (err error) {
	if r.Edge, err = s.namespace("edge"); err != nil {
		return err
	}
	if s.Tag != "" {
		if r.Cgroup, err = NewCgroup("", nameOf(s.Tag, "edge")); err != nil {
			return err
		}
	}
	if err := r.prepareEdge(s); err != nil {
		return err
	}
	for i, c := range s.Clients {
		if err := r.addClient(s, i, c); err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
	}
	return nil
}

func (s Spec) namespace(role string) (ns *NS, err error) {
	if s.Tag == "" {
		ns, err = Anonymous()
	} else {
		ns, err = Create(nameOf(s.Tag, role))
	}
	if err != nil {
		return nil, err
	}
	return ns, inOrder(func() error { return ns.Up("lo") }, ns.quiet)
}

// quiet turns off what would make a small network wait or remember: duplicate
// address detection, and the metrics of earlier connections (a slow start from a
// cached ssthresh is not the one under test). IPv6 may be compiled out.
func (n *NS) quiet() error {
	for _, key := range []string{"net.ipv6.conf.all.accept_dad", "net.ipv6.conf.default.accept_dad"} {
		if err := n.SetSysctl(key, "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return n.SetSysctl("net.ipv4.tcp_no_metrics_save", "1")
}

func (r *Rig) prepareEdge(s Spec) error {
	for _, a := range []netip.Addr{EdgeAddr4, EdgeAddr6} {
		if err := r.Edge.AddAddr("lo", netip.PrefixFrom(a, a.BitLen()), true); err != nil {
			return err
		}
	}
	if s.EdgeCong == "" {
		return nil
	}
	err := r.Edge.SetDefaultCong(s.EdgeCong)
	switch {
	case err == nil:
		r.EdgeCongBy = "sysctl"
	case errors.Is(err, ErrRestricted):
		r.EdgeCongBy = "route"
	default:
		return err
	}
	return nil
}

func (r *Rig) addClient(s Spec, i int, c Client) error {
	net, err := layOut(c)
	if err != nil {
		return err
	}
	if net.NS, err = s.namespace(fmt.Sprintf("c%d", i)); net.NS != nil {
		r.Clients = append(r.Clients, net) // from here on Close ends it
	}
	if err != nil {
		return err
	}
	link := fmt.Sprintf("c%d", i)
	if err := Veth(r.Edge, link, net.NS, "up"); err != nil {
		return err
	}
	return inOrder(
		func() error { return r.wireEdge(s, link, net, c.Down) },
		func() error { return net.wireClient(c.Up) })
}

// layOut gives a client network its addresses.
func layOut(c Client) (Network, error) {
	p := c.Prefix
	if !p.IsValid() || p != p.Masked() || p.Bits() != map[bool]int{true: 24, false: 56}[p.Addr().Is4()] {
		return Network{}, fmt.Errorf("lay out %s: a client prefix is a /24 or a /56 without host bits", p)
	}
	n := Network{Prefix: p, Edge: p.Addr().Next(), Server: EdgeAddr4}
	if p.Addr().Is6() {
		n.Server = EdgeAddr6
	}
	hosts := c.Hosts
	if hosts == 0 {
		hosts = defaultHosts
	}
	if hosts < 0 || hosts > 200 {
		return Network{}, fmt.Errorf("lay out %s: %d hosts, at most 200", p, hosts)
	}
	a := p.Addr()
	for range firstHost {
		a = a.Next()
	}
	for range hosts {
		n.Addrs = append(n.Addrs, a)
		a = a.Next()
	}
	return n, nil
}

// wireEdge sets up the edge's end. The route to the network is ours and not the
// address's, so that it can carry a congestion control.
func (r *Rig) wireEdge(s Spec, link string, n Network, down Shape) error {
	route := Route{To: n.Prefix, Src: n.Server}
	if r.EdgeCongBy == "route" {
		route.Cong = s.EdgeCong
	}
	return inOrder(
		func() error { return r.Edge.AddAddr(link, netip.PrefixFrom(n.Edge, n.Prefix.Bits()), false) },
		func() error { return r.Edge.Shape(link, down) },
		func() error { return r.Edge.Up(link) },
		func() error { return r.Edge.AddRoute(link, route) },
	)
}

func (n Network) wireClient(up Shape) error {
	steps := []func() error{
		func() error { return n.Shape("up", up) },
		func() error { return n.Up("up") },
	}
	for _, a := range n.Addrs {
		steps = append(steps, func() error { return n.AddAddr("up", netip.PrefixFrom(a, n.Prefix.Bits()), true) })
	}
	server := netip.PrefixFrom(n.Server, n.Server.BitLen())
	return inOrder(append(steps, func() error { return n.AddRoute("up", Route{To: server, Via: n.Edge}) })...)
}

func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Start starts a process in a namespace of the rig, the edge's in the rig's
// cgroup if there is one. Close kills it.
func (r *Rig) Start(n *NS, cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return errors.New("start process in rig: closed")
	}
	cg := r.Cgroup
	if n != r.Edge {
		cg = nil
	}
	if err := n.Start(cmd, cg); err != nil {
		return err
	}
	r.procs = append(r.procs, cmd)
	return nil
}

// Close kills what Start started and removes cgroup and namespaces. Idempotent,
// and safe from another goroutine (a signal's).
func (r *Rig) Close() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return nil
	}
	r.done = true
	for _, cmd := range r.procs {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // its caller may have waited
	}
	if r.Cgroup != nil {
		err = errors.Join(err, r.Cgroup.Close())
	}
	for _, c := range r.Clients {
		err = errors.Join(err, c.NS.Close())
	}
	if r.Edge != nil {
		err = errors.Join(err, r.Edge.Close())
	}
	return err
}
