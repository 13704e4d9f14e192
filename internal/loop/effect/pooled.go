package effect

import (
	"slices"

	"github.com/congctl/congctl/internal/core/stat"
)

// Quantiles of every pooled estimate: the slow end is where a better congestion control
// shows, the middle is where harm to the many would.
var Quantiles = [3]float64{0.05, 0.10, 0.50}

// Method is how an interval was made.
type Method uint8

const (
	// NoInterval: fewer than three pairs. Two differences know their spread to a factor of 30.
	NoInterval Method = iota
	// StudentOfPairs: three to eight pairs, Student's t over the pairs' own ratios.
	StudentOfPairs
	// BootstrapOfPairs: nine pairs and more, drawn again as wholes.
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

// Ratio compares one quantile. Without an interval Low and High are 0, without pairs all is.
type Ratio struct {
	Quantile           float64 // 0..1
	Treatment, Control float64 // weighted quantiles, in the unit of the values
	Ratio, Low, High   float64 // Ratio is the one that the method estimates
}

// Pooled is the effect over all that was given, by intention to treat.
type Pooled struct {
	Pairs              int // with both arms
	Partial            int // groups left out: one arm saw nothing
	Treatment, Control int // samples in the pairs
	Method             Method
	Ratios             [3]Ratio // at Quantiles
}

// Pool compares treatment with control over samples in any order. The same samples and
// seed give the same answer, whatever the order.
//
// By the t method the ratio is the geometric mean of the pairs' ratios, each pair one
// vote: a slightly different quantity than the ratio of pooled quantiles.
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

// drawn is how often each pair is counted, with room for one walk over the samples.
type drawn struct{ times, sums []float64 }

func once(pairs int) *drawn {
	d := &drawn{times: make([]float64, pairs)}
	for i := range d.times {
		d.times[i] = 1
	}
	return d
}

// quantiles of one arm. A pair that was drawn twice is two pairs: its samples count as
// two of their weight each, not as one of twice the weight.
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
