package comparison

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/core/effect"
	"github.com/congctl/congctl/internal/core/record"
)

// Report is all that can be said.
type Report struct {
	Rows      int // window rows that count
	Networks  int // with at least one pair
	Estimates []Estimate
	Overall   effect.Fleet // mean of ln rate over pairs, by traffic; its bounds hold at any time
	Cost      Cost
	AA        []Estimate // must show nothing
	HoldOut   effect.Contrast
	Before    effect.Change // of the chosen networks: no evidence
}

// Estimate is one metric, of one label or of all.
type Estimate struct {
	Metric Metric
	Label  string // "" for all, and for what has no label
	Part   bool   // of one label
	effect.Pooled
}

// Cost is what a treatment takes, each side weighted by 1/P(arm).
type Cost struct {
	Pairs                            int
	TreatmentRetrans, ControlRetrans float64 // share of sent bytes
	TreatmentQueueUs, ControlQueueUs float64 // srtt - min_rtt: what waits in queues
}

// Grouping tells how to break down: by a network's label, or by the rows' tenants.
type Grouping struct {
	Of      func(record.Prefix) string // nil: not by network
	Tenants bool
}

// Report makes all estimates. seed is the bootstrap's: the same data and seed give the same report.
func (b *Builder) Report(by Grouping, seed uint64) Report {
	r := Report{Rows: b.rows}
	pairs := b.listPairs(false)
	r.Networks = b.networks()
	r.Overall = effect.WholeFleet(pairs)
	r.Cost = costOf(pairs)
	r.Estimates = b.estimates(false, by, seed)
	r.AA = b.estimates(true, Grouping{}, seed)
	r.HoldOut, r.Before = b.holdOut(), b.beforeAfter()
	return r
}

// listPairs gives the pairs of the experiment or of A/A, in order of time and network.
func (b *Builder) listPairs(aa bool) (list []effect.Pair) {
	for k, s := range b.pairs {
		n := len(s.treated)
		p := effect.Pair{Prefix: k.prefix, Group: k.group, End: k.group/64 + int64(s.groupLen)*b.cfg.BlockSeconds,
			C: s.arm[0], T: s.arm[1], P: float64(n) / float64(n+1)}
		if s.aa == aa && p.Usable() {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(x, y effect.Pair) int {
		return cmp.Or(cmp.Compare(x.End, y.End), cmp.Compare(x.Prefix, y.Prefix), cmp.Compare(x.Group, y.Group))
	})
	return list
}

// networks counts those with both arms of a pair, by any metric.
func (b *Builder) networks() int {
	arms := map[pairKey]int{}
	seen := map[record.Prefix]bool{}
	for k := range b.cells {
		if !k.metric.aa {
			arms[k.pair] |= 1 << k.arm
			if arms[k.pair] == 1<<record.ArmTreatment|1<<record.ArmControl {
				seen[k.pair.prefix] = true
			}
		}
	}
	return len(seen)
}

// chance is the share of treatment blocks in a pair's group; a half before and after a change.
func (b *Builder) chance(k pairKey) float64 {
	if n := float64(k.group % 64); n > 1 {
		return (n - 1) / n
	}
	return 0.5
}

func (b *Builder) weight(k pairKey, arm record.Arm) float64 { return effect.Weight(arm, b.chance(k)) }

// estimates gives each metric that has samples, for all and then by label.
func (b *Builder) estimates(aa bool, by Grouping, seed uint64) (out []Estimate) {
	everyone := func(record.Prefix) bool { return true }
	for m := range metrics {
		tenants := b.tenantsOf(m, aa)
		var all []effect.Sample
		byTenant := map[string][]effect.Sample{}
		for _, t := range tenants {
			s := b.cells.samples(metricOf{m, aa, t}, everyone, b.weight)
			byTenant[t] = s
			all = append(all, s...)
		}
		if len(all) == 0 {
			continue
		}
		out = append(out, Estimate{Metric: m, Pooled: effect.Pool(all, seed)})
		if by.Of != nil {
			for _, l := range effect.ByLabel(all, by.Of, seed) {
				out = append(out, Estimate{m, l.Label, true, l.Pooled})
			}
		}
		if by.Tenants && m != Rate {
			for _, t := range tenants {
				out = append(out, Estimate{m, t, true, effect.Pool(byTenant[t], seed)})
			}
		}
	}
	return out
}

// tenantsOf lists the tenants that a metric has values of; none is "".
func (b *Builder) tenantsOf(m Metric, aa bool) []string {
	seen := map[string]bool{}
	for k := range b.cells {
		if k.metric.metric == m && k.metric.aa == aa {
			seen[k.metric.tenant] = true
		}
	}
	list := make([]string, 0, len(seen))
	for t := range seen {
		list = append(list, t)
	}
	slices.Sort(list)
	return list
}

func costOf(pairs []effect.Pair) (c Cost) {
	c.Pairs = len(pairs)
	c.TreatmentRetrans, c.TreatmentQueueUs = side(pairs, func(p effect.Pair) (effect.Block, float64) { return p.T, 1 / p.P })
	c.ControlRetrans, c.ControlQueueUs = side(pairs, func(p effect.Pair) (effect.Block, float64) { return p.C, 1 / (1 - p.P) })
	return c
}

func side(pairs []effect.Pair, of func(effect.Pair) (effect.Block, float64)) (retrans, queueUs float64) {
	var sent, again, queue, n float64
	for _, p := range pairs {
		b, w := of(p)
		sent += w * float64(b.SentBytes)
		again += w * float64(b.RetransBytes)
		queue += w * float64(b.N) * max(b.SRTTUs-b.MinRTTUs, 0)
		n += w * float64(b.N)
	}
	if sent == 0 || n == 0 {
		return 0, 0
	}
	return again / sent, queue / n
}
