package comparison

import (
	"cmp"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Report is the whole answer.
type Report struct {
	Rows      int // window rows that count
	Networks  int // with at least one pair
	Estimates []Estimate
	Overall   effect.Fleet // mean of ln rate over pairs, by traffic; its bounds hold at any time
	Busy      effect.Fleet // the same of goodput over busy time, over the pairs that know it
	Cost      Cost
	Cap       effect.CapEffect // capped connections against scouts
	AA        []Estimate       // must show nothing
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

// Cost is what a treatment costs, each side weighted by 1/P(arm).
type Cost struct {
	Pairs            int     `json:"-"`
	TreatmentRetrans float64 `json:"treatment_retrans_share"` // of sent bytes
	ControlRetrans   float64 `json:"control_retrans_share"`
	TreatmentQueueUs float64 `json:"treatment_queue_us"` // srtt - min_rtt: waiting in queues
	ControlQueueUs   float64 `json:"control_queue_us"`
}

// Grouping is how to break down: by a network's label, or by the rows' tenants.
type Grouping struct {
	Of      func(record.Prefix) string // nil: not by network
	Tenants bool
}

// Report computes all estimates. seed is the bootstrap's: the same data and seed give the
// same report.
func (b *Builder) Report(by Grouping, seed uint64) Report {
	r := Report{Rows: b.rows}
	pairs := b.Pairs()
	r.Networks = b.networks()
	r.Overall, r.Busy = effect.WholeFleet(pairs), effect.WholeFleet(effect.ByGoodput(pairs))
	r.Cost, r.Cap = CostOf(pairs), b.caps.effect()
	r.Estimates = b.estimates(false, by, seed)
	r.AA = b.estimates(true, Grouping{}, seed)
	r.HoldOut, r.Before = b.holdOut(), effect.BeforeAfter(b.Courses())
	return r
}

// Pairs returns those of the experiment that have both arms, in order of time and network.
func (b *Builder) Pairs() (list []effect.Pair) {
	for k, s := range b.pairs {
		p := effect.Pair{Prefix: k.prefix, Drawn: b.cfg.Drawn, Group: k.group, End: s.end, C: s.control}
		for _, number := range slices.Sorted(maps.Keys(s.treated)) {
			p.T = append(p.T, s.treated[number])
		}
		if p.Usable() {
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

// estimates returns each metric that has samples, for all and then by label.
func (b *Builder) estimates(aa bool, by Grouping, seed uint64) (out []Estimate) {
	for m := range metrics {
		all := b.samples(func(of metricOf) bool { return of.metric == m && of.aa == aa })
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
			for _, t := range b.tenantsOf(m, aa) {
				own := b.samples(func(of metricOf) bool { return of == metricOf{m, aa, t} })
				out = append(out, Estimate{m, t, true, effect.Pool(own, seed)})
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

// CostOf returns the cost over pairs, each side weighted by 1/P(arm).
func CostOf(pairs []effect.Pair) (c Cost) {
	c.Pairs = len(pairs)
	c.TreatmentRetrans, c.TreatmentQueueUs = side(pairs, func(p effect.Pair) ([]effect.Block, float64) {
		return p.T, effect.Weight(record.ArmTreatment, p.Share())
	})
	c.ControlRetrans, c.ControlQueueUs = side(pairs, func(p effect.Pair) ([]effect.Block, float64) {
		return []effect.Block{p.C}, effect.Weight(record.ArmControl, p.Share())
	})
	return c
}

func side(pairs []effect.Pair, of func(effect.Pair) ([]effect.Block, float64)) (retrans, queueUs float64) {
	var sent, again, queue, n float64
	for _, p := range pairs {
		blocks, w := of(p)
		for _, b := range blocks {
			sent += w * float64(b.SentBytes)
			again += w * float64(b.RetransBytes)
			queue += w * float64(b.N) * max(b.SRTTUs-b.MinRTTUs, 0)
			n += w * float64(b.N)
		}
	}
	if sent == 0 || n == 0 {
		return 0, 0
	}
	return again / sent, queue / n
}
