package comparison

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

func rowOf(values []float64) *record.Window {
	slices.Sort(values)
	w := &record.Window{Eligible: uint32(len(values))}
	for i, q := range record.RateQuantiles {
		w.RateBytesPerS[i] = stat.Sorted(values, q)
	}
	return w
}

func TestRebuiltIsExactForFew(t *testing.T) {
	for _, values := range [][]float64{{5}, {3, 8}, {1, 2, 30}} {
		got, weight := Rebuilt(rowOf(values))
		for i := range values {
			if math.Abs(got[i]-values[i]) > 1e-9*values[i] || weight != 1 {
				t.Errorf("%v: %v, weight %v", values, got, weight)
			}
		}
	}
	if got, _ := Rebuilt(&record.Window{}); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// pool returns the pooled p5, p10 and p50 of many rows of log-normal rates, networks of
// different speeds: of the values, and of what is rebuilt from their rows.
func pool(seed uint64, factor float64) (real, again [3]float64) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	var x, y []float64
	for range 3000 {
		level := 5e5 * factor * math.Exp(0.5*rnd.NormFloat64())
		values := make([]float64, 1+rnd.IntN(14))
		for i := range values {
			values[i] = level * math.Exp(0.78*rnd.NormFloat64())
		}
		got, _ := Rebuilt(rowOf(values))
		x, y = append(x, values...), append(y, got...)
	}
	slices.Sort(x)
	slices.Sort(y)
	for i, q := range []float64{0.05, 0.1, 0.5} {
		real[i], again[i] = stat.Sorted(x, q), stat.Sorted(y, q)
	}
	return real, again
}

// docs/verb/effect.md has these bounds.
func TestRebuiltPooled(t *testing.T) {
	for seed := range uint64(5) {
		control, controlAgain := pool(seed, 1)
		treated, treatedAgain := pool(seed+100, 1.5)
		for i := range control {
			off := controlAgain[i]/control[i] - 1
			ratio := (treatedAgain[i] / controlAgain[i]) / (treated[i] / control[i])
			if off < 0 || off > 0.03 || math.Abs(ratio-1) > 0.015 {
				t.Errorf("seed %d, quantile %d: off by %+.2f %%, the ratio by %+.2f %%", seed, i, off*100, (ratio-1)*100)
			}
		}
	}
}

func TestCrowdedRowGivesFewer(t *testing.T) {
	w := &record.Window{Eligible: 6400, RateBytesPerS: [5]float64{10, 20, 30, 60, 90}}
	got, weight := Rebuilt(w)
	if len(got) != maxRebuilt || weight != 100 || !slices.IsSorted(got) {
		t.Errorf("%d values of weight %v: %v", len(got), weight, got)
	}
	if m := stat.Sorted(got, 0.5); math.Abs(m-60) > 1 {
		t.Errorf("median %v", m)
	}
}
