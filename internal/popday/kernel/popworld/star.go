package pop

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/congctl/congctl/internal/core/pop"
	"github.com/congctl/congctl/internal/kernel/netns"
	"github.com/congctl/congctl/internal/kernel/qdisc"
	"github.com/congctl/congctl/internal/kernel/world"
)

// star is the network.
//
//	edge [hub]====[edge] hub [c0]----[n0] clients     data: a link with a path for each network
//	     [back]-----------------[back]                requests and acknowledgements
//
// The clients of all networks share a namespace, which is nothing that a packet could
// tell: each network has its own prefix and its own link.
type star struct {
	edge, hub, clients *room
	relay              *relay // of the hub
	paths              []*path
}

const (
	hubLink  = "hub"
	backLink = "back"
	edgeLink = "edge"
)

// Options of the edge in a star.
type edgeOptions struct {
	qdisc string
	cong  string
	// onRoute are networks whose route names a congestion control.
	onRoute map[int]string
}

func build(w *pop.World, o edgeOptions) (s *star, err error) {
	s = &star{}
	if err := s.build(w, o); err != nil {
		return nil, errors.Join(fmt.Errorf("build networks: %w", err), s.close())
	}
	return s, nil
}

func (s *star) build(w *pop.World, o edgeOptions) (err error) {
	if s.edge, err = newRoom("edge", setting{"net.ipv4.tcp_congestion_control", o.cong}); err != nil {
		return err
	}
	if s.hub, err = newRoom("hub"); err != nil {
		return err
	}
	// The window is never what holds a large response back, but where a client wants that.
	if s.clients, err = newRoom("clients", setting{"net.ipv4.tcp_rmem", "4096 2097152 6291456"}); err != nil {
		return err
	}
	if err := errors.Join(join(s.edge, hubLink, s.hub, edgeLink), join(s.edge, backLink, s.clients, backLink)); err != nil {
		return err
	}
	if err := s.raiseEdge(o); err != nil {
		return err
	}
	if err := s.raiseHub(len(w.Networks)); err != nil {
		return err
	}
	for i := range w.Networks {
		if err := s.addNetwork(i, &w.Networks[i], o.onRoute[i]); err != nil {
			return fmt.Errorf("network %d: %w", i, err)
		}
	}
	return nil
}

// raiseEdge gives the edge its addresses and its qdisc. Super-packets are cut behind
// that, so that the paths see single packets, as a real one does.
func (s *star) raiseEdge(o edgeOptions) error {
	for _, a := range []netip.Addr{netns.EdgeAddr4, netns.EdgeAddr6} {
		err := errors.Join(s.edge.own(a), s.clients.ns.AddRoute(backLink, netns.Route{To: netip.PrefixFrom(a, a.BitLen())}))
		if err != nil {
			return err
		}
	}
	if err := s.edge.ns.Do(func() error { return world.SegmentationOff(hubLink) }); err != nil {
		return err
	}
	link, err := s.edge.index(hubLink)
	if err != nil {
		return err
	}
	root := map[string]qdisc.Spec{"fq": qdisc.Fq{}, "pfifo_fast": qdisc.PfifoFast{}}[o.qdisc]
	return s.edge.tc.Replace(qdisc.At{Link: link, Parent: qdisc.Root, Handle: qdisc.Handle(1)}, root)
}

func (s *star) raiseHub(networks int) (err error) {
	if s.relay, err = newRelay(networks); err != nil {
		return err
	}
	link, err := s.hub.index(edgeLink)
	if err != nil {
		return err
	}
	return s.relay.attach(s.hub, link)
}

func (s *star) addNetwork(i int, n *pop.Network, onRoute string) error {
	out, in := "c"+strconv.Itoa(i), "n"+strconv.Itoa(i)
	if err := join(s.hub, out, s.clients, in); err != nil {
		return err
	}
	err := s.edge.ns.AddRoute(hubLink, netns.Route{To: n.Prefix, Src: serverOf(n.Prefix), Cong: onRoute})
	if err != nil {
		return err
	}
	for h := range pop.Hosts {
		if err := s.clients.own(hostOf(n.Prefix, h)); err != nil {
			return err
		}
	}
	p, err := s.newPath(out, in, n.Path, &s.relay.lanes[i])
	s.paths = append(s.paths, p)
	return err
}

// serverOf is the edge's address for clients of a network.
func serverOf(p netip.Prefix) netip.Addr {
	if p.Addr().Is4() {
		return netns.EdgeAddr4
	}
	return netns.EdgeAddr6
}

const firstHost = 10

// hostOf is the address of the h-th client of a network.
func hostOf(p netip.Prefix, h int) netip.Addr {
	a := p.Addr()
	for range firstHost + h {
		a = a.Next()
	}
	return a
}

// close ends the namespaces and all in them.
func (s *star) close() (err error) {
	if s.relay != nil {
		err = s.relay.close()
	}
	for _, r := range []*room{s.edge, s.hub, s.clients} {
		if r != nil {
			err = errors.Join(err, r.close())
		}
	}
	return err
}
