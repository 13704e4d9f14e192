package outcome

import (
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// losses: as many packets were lost as configured. The configured share must lie in the 99
// % interval of the observed share (Clopper and Pearson), both ways.
//
// The 99 % cover the whole scenario, shared among its runs (Bonferroni): with 99 % for
// each, one honest run in a hundred would be discarded, and a sweep has hundreds. It costs
// little: emulators err by factors, and for 1 % of ten thousand packets and three hundred
// runs the interval grows from 0.76..1.29 % to 0.64..1.48 %.
func losses(v *view) Gate {
	g := v.lossThere()
	if back := v.c.Path.Loss.BackPPM; g.OK && back > 0 {
		asked := float64(back) / 1e6
		g = v.compare(v.hop(RoleBack), asked, asked, 1)
		g.Got, g.Want = "back: "+g.Got, "back: "+g.Want
	}
	return g
}

func (v *view) lossThere() Gate {
	low, high := v.askedLoss()
	if h := v.hop(RoleLoss); high > 0 || h != nil {
		return v.compare(h, low, high, clustering(v.c.Path.Loss.Gilbert))
	}
	return Gate{OK: true, Got: "none", Want: "none"}
}

// compare holds what h lost at random against low to high; clusters of losses count as
// fewer packets.
func (v *view) compare(h *Hop, low, high, clusters float64) Gate {
	g := Gate{Got: "no qdisc that loses packets", Want: percent(low), Why: "netem is missing: is the module loaded, and is loss set where the cell wants it?"}
	if h == nil {
		return g
	}
	if high > low {
		g.Want += " to " + percent(high)
	}
	lost, n := float64(h.Drops-h.LimitDrops), float64(h.Packets+h.Drops)
	share := lost / max(n, 1)
	from, to := stat.Share(lost/clusters, n/clusters, v.confidence())
	g.OK = from <= high && to >= low
	g.Got = fmt.Sprintf("%s of %.0f packets, interval %s to %s", percent(share), n, percent(from), percent(to))
	g.Why = whyLoss(lost, from/high, to/low)
	return g
}

// whyLoss knows the usual factors: low and high bound the one that was seen.
func whyLoss(lost, low, high float64) string {
	by := func(factor float64) bool { return low <= factor && factor <= high }
	switch {
	case lost == 0:
		return "nothing is lost: the loss is set on a qdisc that data does not cross, or rounded to zero"
	case by(0.01):
		return "a hundredth: a percentage was taken for a share (netem wants 1 % as 0.01 x 2^32)"
	case by(100):
		return "a hundred times: a share was taken for a percentage"
	case by(2):
		return "twice: it is set on two qdiscs, or in both directions"
	}
	return "packets are not lost one by one (see single_mtu), or something else drops at that qdisc, such as its limit"
}

// confidence of one run's interval, so that all together have 99 %.
func (v *view) confidence() float64 {
	runs := 0
	for i := range v.s.Cells {
		if c := &v.s.Cells[i]; lossy(&c.Path) {
			runs += max(seedsOf(v.s, c).Count, seedsOf(v.s, c).Max)
		}
	}
	return 1 - 0.01/float64(max(runs, 1))
}

func lossy(p *scenario.Path) bool {
	return p.ReorderPPM > 0 || p.Loss.BackPPM > 0 || p.Loses()
}

// clustering is by how much the variance of the number of losses exceeds that of
// independent ones, for long runs. In the Gilbert-Elliott model the states k packets
// apart are correlated by l^k, l = 1 - P - R:
//
//	var(losses) = n (m (1-m) + 2 b (1-b) (hb - hg)^2 l / (1-l))
//
// with m the mean loss, b the share of bad states and hb, hg the loss in each. Source:
// Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels", BSTJ 42 (1963).
func clustering(g *scenario.Gilbert) float64 {
	if g == nil {
		return 1
	}
	l := 1 - float64(g.P+g.R)/1e6
	b := float64(g.P) / float64(g.P+g.R)
	spread := float64(g.LossBad)/1e6 - float64(g.LossGood)/1e6
	m := (&scenario.Loss{Gilbert: g}).MeanPPM() / 1e6
	return 1 + 2*b*(1-b)*spread*spread*l/((1-l)*m*(1-m))
}

// askedLoss returns the cell's mean loss over the packets that were sent. If a schedule
// changes it, the packets of each span come from the receiver's progress. That lags by the
// way from the place of loss to the application: at least nothing, at most a round trip,
// until the missing packet arrives, and a full queue. Several lags between give the range
// of the configured loss.
func (v *view) askedLoss() (low, high float64) {
	list := v.c.Path.Spans()
	low, high = math.Inf(1), math.Inf(-1)
	longest := 0.0
	for _, s := range list {
		if s.RateBitPerS > 0 {
			longest = max(longest, s.RTTUs+float64(v.c.Path.BufferPacket)*v.frame()*8e6/s.RateBitPerS)
		}
	}
	for part := range 5 {
		mean := v.meanLoss(list, longest*float64(part)/4)
		low, high = min(low, mean), max(high, mean)
	}
	if slices.ContainsFunc(list[1:], total) {
		high = 1 // nothing arrives that tells how many were sent
	}
	return low, high
}

func total(s scenario.Span) bool { return s.Loss >= 1 }

// meanLoss weighs the spans' losses by their packets, with the receiver lag us behind.
func (v *view) meanLoss(list []scenario.Span, lag float64) float64 {
	var mean stat.Mean
	for _, s := range list {
		arrived := 0.0
		for i := range v.r.Flows {
			f := &v.r.Flows[i]
			arrived += f.arrivedAt(s.ToUs+lag) - f.arrivedAt(s.FromUs+lag)
		}
		if !total(s) {
			mean.Add(s.Loss, arrived/(1-s.Loss))
		}
	}
	if len(list) == 1 || mean.Weight() == 0 {
		return list[0].Loss
	}
	return mean.Value()
}

// reordering: as many packets overtook as configured. netem puts such a packet at the head
// of its queue and counts that as a requeue (netem_enqueue in net/sched/sch_netem.c); a
// veth never requeues one. The interval is as for loss.
func reordering(v *view) Gate {
	asked := float64(v.c.Path.ReorderPPM) / 1e6
	if asked == 0 {
		return Gate{OK: true, Got: "none requested", Want: "none"}
	}
	g := Gate{Got: "no delay line", Want: percent(asked), Why: "packets skip the delay of a netem with reorder and gap 1: is it there, and on the data path?"}
	h := v.hop(RoleDelay)
	if h == nil {
		return g
	}
	from, to := stat.Share(float64(h.Requeues), float64(h.Packets), v.confidence())
	g.OK = from <= asked && asked <= to
	g.Got = fmt.Sprintf("%s of %d packets, interval %s to %s", percent(float64(h.Requeues)/float64(max(h.Packets, 1))), h.Packets, percent(from), percent(to))
	return g
}
