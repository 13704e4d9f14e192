package effect

import (
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Quantiles of every pooled estimate: a better congestion control shows at the slow end, harm
// to the many in the middle.
var Quantiles = [3]float64{0.05, 0.10, 0.50}

// Method is how an interval was made.
type Method uint8

const (
	// NoInterval: fewer than three pairs. Two differences know their spread to a factor of 30.
	NoInterval Method = iota
	// StudentOfPairs: three to eight pairs, Student's t over the pairs' own ratios.
	StudentOfPairs
	// BootstrapOfPairs: nine pairs and more, a bootstrap over whole pairs.
	BootstrapOfPairs
)

const (
	fewestForStudent   = 3
	fewestForBootstrap = 9
)

func (m Method) String() string {
	return [...]string{"no interval: fewer than 3 pairs", "t over pairs", "bootstrap over pairs"}[m]
}

// MarshalText prints the method in words.
func (m Method) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Ratio compares one quantile. Without an interval Low and High are 0, without pairs all fields are.
type Ratio struct {
	Quantile           float64 // 0..1
	Treatment, Control float64 // weighted quantiles, in the unit of the values
	Ratio, Low, High   float64 // Ratio is the one that the method estimates
}

// Pooled is the effect over all samples, by intention to treat.
type Pooled struct {
	Pairs              int // with both arms
	Partial            int // groups left out: one arm saw nothing
	Treatment, Control int // samples in the pairs
	Method             Method
	Ratios             [3]Ratio // at Quantiles
}

// Pool compares treatment with control over samples in any order. The same samples and seed give
// the same answer, whatever the order.
//
// By the t method the ratio is the geometric mean of the pairs' ratios, each pair one vote: a
// slightly different quantity from the ratio of pooled quantiles.
func Pool(samples []Sample, seed uint64) Pooled {
	a := byPair(samples)
	p := Pooled{Pairs: a.pairs, Partial: a.partial, Treatment: len(a.t.values), Control: len(a.c.values)}
	if a.pairs == 0 {
		return p
	}
	t, c := once(a.pairs).quantiles(a.t), once(a.pairs).quantiles(a.c)
	for i, q := range Quantiles {
		p.Ratios[i] = Ratio{Quantile: q, Treatment: t[i], Control: c[i], Ratio: t[i] / c[i]}
	}
	switch {
	case a.pairs >= fewestForBootstrap:
		p.Method = BootstrapOfPairs
		bootstrap(a, &p.Ratios, seed)
	case a.pairs >= fewestForStudent:
		p.Method = StudentOfPairs
		student(a, &p.Ratios)
	}
	return p
}

// drawn is how often each pair counts, with room for one walk over the samples.
type drawn struct{ times, sums []float64 }

func once(pairs int) *drawn {
	d := &drawn{times: make([]float64, pairs)}
	for i := range d.times {
		d.times[i] = 1
	}
	return d
}

// quantiles of one arm. A pair drawn twice is two pairs: its samples count as two of their
// weight each, not as one of twice the weight.
func (d *drawn) quantiles(arm sorted) (at [3]float64) {
	d.sums = slices.Grow(d.sums[:0], len(arm.values))[:len(arm.values)]
	var sum, squares float64
	for i, pair := range arm.pairs {
		w := arm.weights[i]
		drawn := d.times[pair] * w
		sum += drawn
		squares += drawn * w
		d.sums[i] = sum
	}
	for i, q := range Quantiles {
		at[i] = stat.Weighted(arm.values, d.sums, sum*sum/squares, q)
	}
	return at
}

// What a pooled estimate means depends on what was pooled:
//
//	samples                                         | a ratio beside 1 means
//	responses of 100,000 bytes and more             | the effect
//	all responses                                   | the effect on all, mostly of small ones
//	first 100,000 bytes of responses (a placebo)    | neighbours changed the path before the switch
//	A/A prefixes, arms as drawn, nothing applied    | the measurement is wrong
//	untreated connections of treated prefixes       | what the treated ones do to them

// headline is the index of the quantile that the verdicts below use. It is one, named before the
// data: three intervals of 95 % would be wrong in up to 15 % of cases.
const headline = 1 // p10

// excludes1 reports which side of 1 the headline's interval lies on: -1, 0, 1.
func (p Pooled) excludes1() int {
	r := p.Ratios[headline]
	switch {
	case r.Low == 0 && r.High == 0, r.Low <= 1 && r.High >= 1:
		return 0
	case r.High < 1:
		return -1
	}
	return 1
}

// Faulty reads an A/A estimate: an effect without a treatment is a fault of the measurement,
// although one in twenty sound ones shows it.
func (p Pooled) Faulty() bool { return p.excludes1() != 0 }

// Labelled is the estimate for the prefixes of one label.
type Labelled struct {
	Label string
	Pooled
}

// ByLabel pools each label's samples separately, labels in order. Prefixes without a label are
// under "". Many labels are many intervals: one in twenty misses its truth.
func ByLabel(samples []Sample, label func(record.Prefix) string, seed uint64) []Labelled {
	groups := map[string][]Sample{}
	var names []string
	for _, s := range samples {
		name := label(s.Prefix)
		if _, ok := groups[name]; !ok {
			names = append(names, name)
		}
		groups[name] = append(groups[name], s)
	}
	slices.Sort(names)
	list := make([]Labelled, 0, len(names))
	for _, name := range names {
		list = append(list, Labelled{name, Pool(groups[name], seed)})
	}
	return list
}
