package window

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// TestMix against the connections themselves: rows of many networks, each with its own rate.
func TestMix(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var m Mix
	var all []float64
	if got := m.Quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for range 400 {
		w := record.Window{Eligible: uint32(20 + r.IntN(100))}
		centre, rates := 11+2*r.NormFloat64(), make([]float64, w.Eligible)
		for i := range rates {
			rates[i] = math.Exp(centre + 0.4*r.NormFloat64())
		}
		slices.Sort(rates)
		for i, q := range record.RateQuantiles {
			w.RateBytesPerS[i] = stat.Quantile(rates, q)
		}
		all = append(all, rates...)
		m.Add(&w)
	}
	m.Add(&record.Window{}) // without an eligible connection
	slices.Sort(all)
	if m.Conns != uint64(len(all)) {
		t.Errorf("%d connections, want %d", m.Conns, len(all))
	}
	for _, q := range []float64{0.05, 0.1, 0.5, 0.8} {
		if got, want := m.Quantile(q), stat.Quantile(all, q); math.Abs(math.Log(got/want)) > 0.1 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
}
