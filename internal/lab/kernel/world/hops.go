package world

import (
	"fmt"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

func (n *node) counters(at *place) (qdisc.Counters, error) {
	if at.major == 0 {
		return n.TC.PoliceStat(n.link(at.link))
	}
	s, err := n.TC.Get(n.link(at.link), qdisc.Handle(at.major))
	return s.Counters, err
}

// readHops computes what each place did by itself. A qdisc counts its children's drops as
// its own and sends only what they let through, so a parent's share is: dropped, less what
// they dropped; sent, plus what they dropped and hold. A child without a role is part of
// the one above.
func (r *runner) readHops() error {
	for i := range r.plan.places {
		at := &r.plan.places[i]
		if len(at.roles) == 0 {
			continue
		}
		n := r.net.node(at.node)
		c, err := n.counters(at)
		if err != nil {
			return fmt.Errorf("node %s: %w", at.node, err)
		}
		h := outcome.Hop{Node: at.node, Link: at.link, Qdisc: at.spec.Kind(), Roles: at.roles,
			Packets: c.Packets, Bytes: c.Bytes, Drops: c.Drops, Overlimits: c.Overlimits, Requeues: c.Requeues,
			Marked: c.Marked, Backlog: c.QueueBytes}
		if below := r.below(at); below != nil {
			b, err := n.counters(below)
			if err != nil {
				return fmt.Errorf("node %s: %w", at.node, err)
			}
			h.Marked += b.Marked
			if len(below.roles) > 0 {
				h.Packets += b.Drops + uint64(b.QueuePackets)
				h.Drops -= b.Drops
				h.Backlog -= b.QueueBytes
			}
		}
		onPurpose := at.plays(outcome.RoleLoss) || at.plays(outcome.RoleBack) && r.cell.Path.Loss.BackPPM > 0
		if !onPurpose { // no place both loses at random and can be full
			h.LimitDrops = h.Drops
		}
		r.run.Hops = append(r.run.Hops, h)
	}
	return nil
}

// below returns the place under another, nil if there is none.
func (r *runner) below(at *place) *place {
	for i := range r.plan.places {
		p := &r.plan.places[i]
		if p.node == at.node && p.link == at.link && p.parent != 0 && p.parent == at.major {
			return p
		}
	}
	return nil
}

func (r *runner) readLinks() error {
	for _, n := range r.net.nodes {
		for _, l := range n.links {
			got, err := n.Route.LinkByIndex(l.index)
			if err != nil {
				return fmt.Errorf("read link %s of %s: %w", l.name, n.Name, err)
			}
			a := got.Attrs()
			out := outcome.Link{Node: n.Name, Name: l.name, GSOMax: a.GSOMaxSegs}
			if s := a.Statistics; s != nil {
				out.TxPackets, out.TxBytes, out.TxDropped = s.TxPackets, s.TxBytes, s.TxDropped
				out.RxPackets, out.RxBytes, out.RxDropped = s.RxPackets, s.RxBytes, s.RxDropped
			}
			r.run.Links = append(r.run.Links, out)
		}
	}
	return nil
}
