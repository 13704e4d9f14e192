package popday

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// The randomised blocks of all runs of the loop, pooled, beside the truth. Each response
// belongs to the block in which it began and has the arm that was drawn for it, whatever
// was applied (intention to treat). The truth is what the same responses, treated and
// control blocks alike, got in the all-BBR run of the same seed, divided by what they got
// in the all-CUBIC run.
//
// All-BBR uses BBR from the first byte, the loop from the 100,000th: of a response of 200 to
// 500 kB a half to a fifth passes before that. So the report also has what a switch there
// could do at most, each response at all-CUBIC's pace up to it and at all-BBR's after:
//
//	time = 100,000 / goodput CUBIC + (bytes - 100,000) / goodput BBR
//
// with the goodput of the same rank within its network: the n-th slowest of one run beside
// the n-th slowest of the other. Pairing by session and request would average two random
// values, whose p10 is higher than either's where nothing differs. That is a model: it
// assumes an even pace within a response. A run of the policy switch replaces it.

// Effect is the effect in one class, or in several together.
type Effect struct {
	Policy   string   `json:"policy"`
	Label    string   `json:"label"`
	Classes  []string `json:"classes"`
	Chosen   int      `json:"chosen_networks"` // of all seeds, by the loop at any time
	Networks int      `json:"networks"`        // with a pair
	Goodput  Estimate `json:"goodput"`         // of large responses
	Rate     Estimate `json:"delivery_rate"`
	Truth    []Truth  `json:"truth,omitempty"`    // at the 10th and 50th percentile
	Switched []Truth  `json:"switched,omitempty"` // the same, for a switch at 100,000 bytes

	// Share of large responses that ended on the treatment, by the arm drawn: a connection that
	// never leaves loss recovery is never switched.
	AppliedTreated float64 `json:"applied_treated"`
	AppliedControl float64 `json:"applied_control"`

	RetransTreated float64 `json:"retrans_share_treated"`
	RetransControl float64 `json:"retrans_share_control"`
	QueueTreatedUs float64 `json:"queue_treated_us"`
	QueueControlUs float64 `json:"queue_control_us"`
}

// Sham is the same comparison in the A/A networks, whose blocks are drawn but not treated:
// an interval that excludes 1 points to a fault of the experiment.
type Sham struct {
	Policy   string   `json:"policy"`
	Networks int      `json:"networks"` // with a sample
	Goodput  Estimate `json:"goodput"`
	Rate     Estimate `json:"delivery_rate"`
}

// Estimate is from randomised blocks.
type Estimate struct {
	Pairs     int    `json:"pairs"`
	Partial   int    `json:"partial"` // groups left out: one arm saw nothing
	Treatment int    `json:"treated"` // responses, or connections
	Control   int    `json:"control"`
	Method    string `json:"interval"`
	P10       Bounds `json:"p10"`
	P50       Bounds `json:"p50"`
}

// Bounds of a ratio; the interval is nil if there are too few pairs.
type Bounds struct {
	Ratio    float64   `json:"ratio"` // 0: unknown
	Interval *Interval `json:"interval,omitempty"`
}

// Truth is that of one quantile.
type Truth struct {
	Quantile float64   `json:"quantile"`
	Ratio    *Interval `json:"ratio,omitempty"`
	Covered  *bool     `json:"covered,omitempty"` // by the estimate's interval
}

// Metrics by which the blocks are compared.
var metrics = []comparison.Metric{comparison.Goodput, comparison.Rate}

// blocks are the experiments of all loops.
type blocks struct {
	*table
	samples map[comparison.Metric][]effect.Sample
	sham    map[comparison.Metric][]effect.Sample // of A/A
	class   map[record.Prefix]string
	pairs   []effect.Pair
	courses []effect.Course
	truth   []paired
	applied map[applied]int // large responses
}

// applied is a class in an arm, and whether the response ended on the treatment.
type applied struct {
	class     string
	arm       record.Arm
	treatment bool
}

// paired is a response of the experiment, under the default and under the treatment.
type paired struct {
	group           group
	network         int
	arm             record.Arm
	asked           float64 // bytes
	base, full, mix float64 // bytes/s; mix is of a switch at LargeBytes
}

// group names a pair over all seeds.
type group struct {
	seed   int
	prefix record.Prefix
	group  int64
}

// seedShift keeps the groups of two seeds apart: a group's number is below 2^44 until the
// year 10,000.
const seedShift = 44

func (g group) number() int64 { return int64(g.seed)<<seedShift | g.group }

// newBlocks pools the runs of one policy; nil if there are none.
func newBlocks(in *Input, t *table, policy string) *blocks {
	b := &blocks{table: t, samples: map[comparison.Metric][]effect.Sample{}, sham: map[comparison.Metric][]effect.Sample{},
		class: map[record.Prefix]string{}, applied: map[applied]int{}}
	for _, n := range in.Runs[0].Facts.Networks {
		b.class[n.Prefix] = n.Class
	}
	p, some := t.place(policy), false
	for seed, row := range t.runs {
		if p >= 0 && row[p] != nil && row[p].Loop != nil && !row[p].Loop.Observes {
			some = true
			b.take(seed, row[p], in.Experiment)
		}
	}
	if !some {
		return nil
	}
	b.mix()
	return b
}

// take adds one run: its responses to its pairs, and the pairs to all.
func (b *blocks) take(seed int, r *Run, e Experiment) {
	at := make(map[id]comparison.Placed)
	for i := range r.Responses {
		x := &r.Responses[i]
		began := r.Facts.BeganUnixS + int64(x.StartUs/1e6)
		start := began / e.WindowS * e.WindowS
		prefix := r.Facts.Networks[x.Network].Prefix
		p, ok := r.Loop.Pairs.Drawn(start, prefix)
		if !ok || record.InWashout(began, e.BlockS, e.WashoutS) || !x.whole() || !r.Loop.Heads[start] {
			continue
		}
		kind := goodput.Small
		if x.large() {
			kind = goodput.Responses
			at[x.id()] = p
			b.applied[applied{b.classOf[x.Network], p.Row, x.Cong != "" && x.Cong != b.base}]++
		}
		r.Loop.Pairs.Goodput(&goodput.Row{Key: goodput.Key{Window: start, Prefix: prefix, Kind: kind, Arm: p.Row}, N: 1,
			Bytes: x.Got, BytesPerS: []float32{float32(x.goodput())}})
	}
	for _, m := range metrics {
		b.samples[m] = append(b.samples[m], numbered(seed, r.Loop.Pairs.Samples(m))...)
		b.sham[m] = append(b.sham[m], numbered(seed, r.Loop.Pairs.ShamSamples(m))...)
	}
	for _, p := range r.Loop.Pairs.Pairs() {
		p.Group = group{seed, p.Prefix, p.Group}.number()
		b.pairs = append(b.pairs, p)
	}
	b.courses = append(b.courses, r.Loop.Pairs.Courses()...)
	b.know(seed, r, at)
}

// numbered keeps the groups of a seed apart from those of others.
func numbered(seed int, samples []effect.Sample) []effect.Sample {
	for i := range samples {
		s := &samples[i]
		s.Group = group{seed, s.Prefix, s.Group}.number()
	}
	return samples
}

// appliedShare of large responses that ended on the treatment, over classes; 0 without responses.
func (b *blocks) appliedShare(classes []string, arm record.Arm) float64 {
	off, on := 0, 0
	for _, c := range classes {
		off, on = off+b.applied[applied{c, arm, false}], on+b.applied[applied{c, arm, true}]
	}
	return share(uint64(on), uint64(off+on))
}

// know adds the truth of a run's responses that count.
func (b *blocks) know(seed int, r *Run, at map[id]comparison.Placed) {
	c, f, s := b.place(b.base), b.place(b.full), b.place(switched)
	if c < 0 || f < 0 || b.runs[seed][c] == nil || b.runs[seed][f] == nil {
		return
	}
	for i := range b.units {
		u := &b.units[i]
		p, ok := at[u.id()]
		if u.seed != seed || !ok || p.Row == record.ArmAA {
			continue
		}
		x := paired{group: group{seed, r.Facts.Networks[u.network].Prefix, p.Group}, network: u.network, arm: p.Arm,
			asked: float64(u.asked), base: u.at[c].goodput(), full: u.at[f].goodput()}
		if s >= 0 && b.runs[seed][s] != nil {
			x.mix = u.at[s].goodput()
		}
		b.truth = append(b.truth, x)
	}
}

// effectOf returns the effect in some classes.
func (b *blocks) effectOf(label string, classes []string, chosen map[int]int) Effect {
	keep := func(p record.Prefix) bool { return slices.Contains(classes, b.class[p]) }
	e := Effect{Label: label, Classes: classes}
	for n, times := range chosen {
		if slices.Contains(classes, b.classOf[n]) {
			e.Chosen += times
		}
	}
	e.Goodput, e.Rate = estimateOf(b.samples[comparison.Goodput], keep), estimateOf(b.samples[comparison.Rate], keep)
	var pairs []effect.Pair
	seen := map[group]bool{}
	for _, p := range b.pairs {
		if keep(p.Prefix) {
			pairs = append(pairs, p)
			seen[group{seed: int(p.Group >> seedShift), prefix: p.Prefix}] = true
		}
	}
	e.Networks = len(seen)
	e.AppliedTreated, e.AppliedControl = b.appliedShare(classes, record.ArmTreatment), b.appliedShare(classes, record.ArmControl)
	cost := comparison.CostOf(pairs)
	e.RetransTreated, e.RetransControl, e.QueueTreatedUs, e.QueueControlUs = cost.TreatmentRetrans, cost.ControlRetrans, cost.TreatmentQueueUs, cost.ControlQueueUs
	e.Truth = b.truths(keep, func(x *paired) float64 { return x.full }, e.Goodput)
	e.Switched = b.truths(keep, func(x *paired) float64 { return x.mix }, e.Goodput)
	return e
}

// shamOf returns the A/A comparison; nil without a pair.
func (b *blocks) shamOf() *Sham {
	all := func(record.Prefix) bool { return true }
	s := &Sham{Goodput: estimateOf(b.sham[comparison.Goodput], all), Rate: estimateOf(b.sham[comparison.Rate], all)}
	if s.Goodput.Pairs+s.Rate.Pairs == 0 {
		return nil
	}
	seen := map[group]bool{}
	for _, m := range metrics {
		for _, x := range b.sham[m] {
			seen[group{seed: int(x.Group >> seedShift), prefix: x.Prefix}] = true
		}
	}
	s.Networks = len(seen)
	return s
}

func estimateOf(samples []effect.Sample, keep func(record.Prefix) bool) Estimate {
	var kept []effect.Sample
	for _, s := range samples {
		if keep(s.Prefix) {
			kept = append(kept, s)
		}
	}
	p := effect.Pool(kept, 1)
	return Estimate{Pairs: p.Pairs, Partial: p.Partial, Treatment: p.Treatment, Control: p.Control, Method: p.Method.String(),
		P10: boundsOf(p.Ratios[1]), P50: boundsOf(p.Ratios[2])}
}

func boundsOf(r effect.Ratio) Bounds {
	b := Bounds{Ratio: finite(r.Ratio)}
	if r.Low != 0 && r.High != 0 && !math.IsNaN(r.Low+r.High) {
		b.Interval = &Interval{r.Ratio, r.Low, r.High}
	}
	return b
}
