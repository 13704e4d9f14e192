package outcome

import "fmt"

// singleMTU: where packets are lost, each is one packet on the wire. netem draws once
// for each skb, and an skb of 64 kB takes 45 packets with it: the same share of lost
// packets, but a 45th of the loss events, and these are what TCP reacts to.
//
// A qdisc's own counters cannot tell: they count the segments of a super-packet one by
// one (bstats_update in include/net/sch_generic.h), devices count skbs. So two things
// are looked at where packets come into the hop's node:
//
//   - their mean size at the link, at most MTU + 14;
//   - their number, which must be what the qdisc sent and dropped. More in the qdisc:
//     super-packets came in. Less: some were merged on the way (GRO), and a drop of one
//     took many.
//
// The sender's own qdisc has no such link: there the link's gso_max_segs must be 1,
// since TCP builds super-packets even for links that cannot send them (sk_setup_caps).
func singleMTU(v *view) Gate {
	g := Gate{Want: fmt.Sprintf("at most %s bytes a packet, each counted once", digits(v.frame())),
		Why: "super-packets reach the place of loss: set gso_max_segs 1 on the sender's link, switch tso and gso off one hop before, and gro off on veth"}
	h := v.hop(RoleLoss)
	if h == nil && !v.c.Sender.SuperPackets {
		h = v.hop(RoleBottleneck) // its queue counts packets
	}
	if h == nil {
		g.OK, g.Got = true, "no packet is lost on purpose"
		return g
	}
	in := v.into(h)
	switch {
	case in == nil:
		g.Got = "unknown: no link into " + h.Node
	case h.plays(RoleSender):
		g.OK = in.GSOMax == 1
		g.Got = fmt.Sprintf("gso_max_segs %d on the sender's link", in.GSOMax)
		g.Want = "gso_max_segs 1 on the sender's link"
	default:
		counted := h.Packets + h.Drops
		mean := float64(in.RxBytes) / float64(max(in.RxPackets, 1))
		g.OK = mean <= v.frame() && apart(counted, in.RxPackets) <= strays(in.RxPackets)
		g.Got = fmt.Sprintf("%s bytes a packet, %d came in, %s counted %d", digits(mean), in.RxPackets, h.Qdisc, counted)
	}
	return g
}

// strays are packets that only one of two counters sees: neighbour discovery before the
// qdisc existed, and packets in flight at the end. 0.01 % for long runs: of 100,000
// packets, ten merged to one exceed it from 0.04 % loss on.
func strays(n uint64) uint64 { return 20 + n/10_000 }

func apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// into returns the link by which packets towards the receiver enter the hop's node, for
// the sender and an ingress qdisc the hop's own; nil if the world reports none.
func (v *view) into(h *Hop) *Link {
	own := h.plays(RoleSender) || h.Qdisc == "ingress" || h.Qdisc == "clsact" || h.Qdisc == "police"
	for i := range v.r.Links {
		if l := &v.r.Links[i]; l.Node == h.Node && l.Name != "lo" && (l.Name == h.Link) == own {
			return l
		}
	}
	return nil
}
