package qdisc

import (
	"fmt"
	"math"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Attributes of netem (include/uapi/linux/pkt_sched.h).
const (
	netemReorder   = 3
	netemLoss      = 5
	netemRate      = 6
	netemRate64    = 8
	netemLatency64 = 10
	netemJitter64  = 11
	netemSeed      = 14 // 6.6 and later; older ones take no notice
	lossGE         = 2  // NETEM_LOSS_GE, nested in netemLoss
)

// Gilbert is the four-parameter Gilbert-Elliott model (gemodel), in millionths: the good
// state turns bad with P, the bad one good with R; a packet is lost with LossGood in the
// good state and with LossBad in the bad one.
type Gilbert struct{ P, R, LossBad, LossGood uint32 }

// Netem delays, loses and serialises packets. Loss is drawn before the packet joins
// the queue; with a rate a packet's departure is computed when it joins, so a later
// change of the rate does not touch what waits (net/sched/sch_netem.c).
type Netem struct {
	LimitPackets  uint32
	DelayNs       int64
	JitterNs      int64
	RateBytesPerS uint64   // 0: no rate
	LossPPM       uint32   // independent, per packet
	Gilbert       *Gilbert // instead of LossPPM
	ReorderPPM    uint32   // leave at once, before those that wait
	Seed          uint64   // 0: the kernel draws one, at each change anew
}

// Kind is "netem".
func (Netem) Kind() string { return "netem" }

func (n Netem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "netem limit %d", n.LimitPackets)
	if n.DelayNs > 0 {
		fmt.Fprintf(&b, " delay %dns", n.DelayNs)
	}
	if n.JitterNs > 0 {
		fmt.Fprintf(&b, " jitter %dns", n.JitterNs)
	}
	if n.RateBytesPerS > 0 {
		fmt.Fprintf(&b, " rate %s", rateText(n.RateBytesPerS))
	}
	if g := n.Gilbert; g != nil {
		fmt.Fprintf(&b, " loss gemodel p %dppm r %dppm bad %dppm good %dppm", g.P, g.R, g.LossBad, g.LossGood)
	} else if n.LossPPM > 0 {
		fmt.Fprintf(&b, " loss %dppm", n.LossPPM)
	}
	if n.ReorderPPM > 0 {
		fmt.Fprintf(&b, " reorder %dppm gap %d", n.ReorderPPM, n.gap())
	}
	if n.Seed != 0 {
		fmt.Fprintf(&b, " seed %#x", n.Seed)
	}
	return b.String()
}

// options begin with struct tc_netem_qopt, followed by the attributes. Every value is
// always sent, so that a change resets what the last one set.
func (n Netem) options() *nl.RtAttr {
	var loss uint32
	if n.Gilbert == nil {
		loss = Share(n.LossPPM)
	}
	o := nl.NewRtAttr(unix.TCA_OPTIONS, words(oldTime(n.DelayNs), n.LimitPackets, loss, n.gap(), 0, oldTime(n.JitterNs)))
	o.AddRtAttr(netemLatency64, u64(uint64(n.DelayNs)))
	o.AddRtAttr(netemJitter64, u64(uint64(n.JitterNs)))
	// struct tc_netem_rate: rate, packet_overhead, cell_size, cell_overhead.
	if n.RateBytesPerS > math.MaxUint32 {
		o.AddRtAttr(netemRate64, u64(n.RateBytesPerS))
	}
	o.AddRtAttr(netemRate, words(uint32(min(n.RateBytesPerS, math.MaxUint32)), 0, 0, 0))
	if g := n.Gilbert; g != nil {
		// struct tc_netem_gemodel: p, r, h, k1. The kernel loses in the bad state above h,
		// in the good one below k1.
		model := o.AddRtAttr(netemLoss|unix.NLA_F_NESTED, nil)
		model.AddRtAttr(lossGE, words(Share(g.P), Share(g.R), math.MaxUint32-Share(g.LossBad), Share(g.LossGood)))
	}
	if n.ReorderPPM > 0 { // struct tc_netem_reorder: probability, correlation
		o.AddRtAttr(netemReorder, words(Share(n.ReorderPPM), 0))
	}
	if n.Seed != 0 {
		o.AddRtAttr(netemSeed, u64(n.Seed))
	}
	return o
}

// gap is from which packet on, after a reordered one, the next may be: 1 each one, 0
// none ever.
func (n Netem) gap() uint32 { return min(n.ReorderPPM, 1) }

func oldTime(ns int64) uint32 { return uint32(min(ns/tickNs, math.MaxUint32)) }
