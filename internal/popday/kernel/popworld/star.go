package popworld

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/qdisc"
	"github.com/congctl/congctl/internal/popday/pop"
)

// star is the network.
//
//	edge  [hub]====[edge]  hub [c0]----[n0] clients   data: a link with a path for each network
//	other [hub]====[other]                            data of neighbours, over the same paths
//	      [back]----------------[back]                requests and acknowledgements, of each server
//
// The clients of all networks share a namespace, which is nothing that a packet could
// tell: each network has its own prefix and its own link.
type star struct {
	edge, hub, clients *room
	other              *room  // the neighbours' server, which is not ours; nil without neighbours
	relay              *relay // of the hub
	paths              []*path
}

const (
	hubLink  = "hub"
	backLink = "back"
	edgeLink = "edge"
	// otherLink of the hub and of the clients.
	otherLink = "other"
)

// Addresses of the neighbours' server.
var (
	otherAddr4 = netip.MustParseAddr("192.0.2.2")
	otherAddr6 = netip.MustParseAddr("2001:db8:ffff::2")
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
	if s.edge, err = newRoom("edge", world.Setting{Key: "net.ipv4.tcp_congestion_control", Value: o.cong}); err != nil {
		return err
	}
	if s.hub, err = newRoom("hub"); err != nil {
		return err
	}
	// The window is never what holds a large response back, but where a client wants that.
	if s.clients, err = newRoom("clients", world.Setting{Key: "net.ipv4.tcp_rmem", Value: "4096 2097152 6291456"}); err != nil {
		return err
	}
	if s.relay, err = newRelay(len(w.Networks)); err != nil {
		return err
	}
	if err := s.raise(s.edge, o.qdisc, edgeLink, backLink, netns.EdgeAddr4, netns.EdgeAddr6); err != nil {
		return err
	}
	if slices.ContainsFunc(w.Networks, func(n pop.Network) bool { return n.Theirs }) {
		if s.other, err = newRoom("other", world.Setting{Key: "net.ipv4.tcp_congestion_control", Value: "cubic"}); err != nil {
			return err
		}
		if err := s.raise(s.other, o.qdisc, otherLink, otherLink, otherAddr4, otherAddr6); err != nil {
			return err
		}
	}
	for i := range w.Networks {
		if err := s.addNetwork(i, &w.Networks[i], o.onRoute[i]); err != nil {
			return fmt.Errorf("network %d: %w", i, err)
		}
	}
	return nil
}

// raise sets a server's addresses, its qdisc, and its ways to the hub and from the clients.
// Super-packets are cut behind the qdisc, so that the paths see single packets, as a real
// one does.
func (s *star) raise(server *room, root, hubSide, backSide string, addrs ...netip.Addr) error {
	if err := errors.Join(join(server, hubLink, s.hub, hubSide), join(server, backLink, s.clients, backSide)); err != nil {
		return err
	}
	for _, a := range addrs {
		err := errors.Join(server.own(a), s.clients.NS.AddRoute(backSide, netns.Route{To: netip.PrefixFrom(a, a.BitLen())}))
		if err != nil {
			return err
		}
	}
	if err := server.NS.Do(func() error { return world.SegmentationOff(hubLink) }); err != nil {
		return err
	}
	out, err := server.index(hubLink)
	if err != nil {
		return err
	}
	spec := map[string]qdisc.Spec{"fq": qdisc.Fq{}, "pfifo_fast": qdisc.PfifoFast{}}[root]
	if err := server.TC.Replace(qdisc.At{Link: out, Parent: qdisc.Root, Handle: qdisc.Handle(1)}, spec); err != nil {
		return err
	}
	in, err := s.hub.index(hubSide)
	if err != nil {
		return err
	}
	return s.relay.attach(s.hub, in)
}

func (s *star) addNetwork(i int, n *pop.Network, onRoute string) error {
	server := s.edge
	if n.Theirs {
		server = s.other
	}
	err := server.NS.AddRoute(hubLink, netns.Route{To: n.Prefix, Src: serverOf(n), Cong: onRoute})
	if err != nil {
		return err
	}
	for h := range pop.Hosts {
		if err := s.clients.own(hostOf(n.Prefix, h)); err != nil {
			return err
		}
	}
	if n.Behind >= 0 {
		p := s.paths[n.Behind]
		s.paths = append(s.paths, p)
		if n.Theirs {
			p.share(&s.relay.lanes[i])
		} else {
			p.shareOurs(&s.relay.lanes[i], n.Path)
		}
		return nil
	}
	out, in := "c"+strconv.Itoa(i), "n"+strconv.Itoa(i)
	if err := join(s.hub, out, s.clients, in); err != nil {
		return err
	}
	p, err := s.newPath(out, in, n.Path, &s.relay.lanes[i])
	s.paths = append(s.paths, p)
	return err
}

// serverOf is the server's address for clients of a network.
func serverOf(n *pop.Network) netip.Addr {
	switch {
	case n.Theirs && n.Prefix.Addr().Is4():
		return otherAddr4
	case n.Theirs:
		return otherAddr6
	case n.Prefix.Addr().Is4():
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
	for _, r := range []*room{s.edge, s.other, s.hub, s.clients} {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	return err
}
