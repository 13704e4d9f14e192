package stat

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// TestWeightedEqual: equal weights, of any size, are type 7.
func TestWeightedEqual(t *testing.T) {
	for _, k := range known {
		if math.IsInf(k.x[len(k.x)-1], 1) {
			continue
		}
		w := ones(len(k.x))
		if got := Weighted(k.x, Running(w), effective(w), k.q); math.Abs(got-k.want) > 1e-12 {
			t.Errorf("%v of %v = %v, want %v", k.q, k.x, got, k.want)
		}
	}
}

// TestWeightedByHand: weights 1, 1, 2 are worth 16/6 = 2.67 observations. The median's
// stretch is 5/16 to 11/16 of the length; 20 has the length from 4/16 to 8/16, 30 the
// rest: three sixteenths of each.
func TestWeightedByHand(t *testing.T) {
	w := []float64{1, 1, 2}
	if got := Weighted([]float64{10, 20, 30}, Running(w), effective(w), 0.5); math.Abs(got-25) > 1e-12 {
		t.Errorf("median %v, want 25", got)
	}
}

// TestWeightedAgainstSteps: the slow way, a mean over many points of the stretch.
func TestWeightedAgainstSteps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0, 10), 1, 12).Draw(rt, "x")
		slices.Sort(x)
		w := rapid.SliceOfN(rapid.Float64Range(0.1, 5), len(x), len(x)).Draw(rt, "w")
		q := rapid.Float64Range(0, 1).Draw(rt, "q")
		n := effective(w)
		total := 0.0
		for _, v := range w {
			total += v
		}
		const points = 2_000
		sum := 0.0
		for k := range points {
			at, i := (q*(n-1)+(float64(k)+0.5)/points)/n*total, 0
			for ; i < len(w)-1 && at >= w[i]; i++ {
				at -= w[i]
			}
			sum += x[i] / points
		}
		if got := Weighted(x, Running(w), n, q); math.Abs(got-sum) > 0.02 {
			rt.Fatalf("%v of %v with %v = %v, step by step %v", q, x, w, got, sum)
		}
	})
}

func TestWeightedNothing(t *testing.T) {
	for _, k := range [][]float64{{}, {0, 0}} {
		if got := Weighted(make([]float64, len(k)), Running(k), 2, 0.5); !math.IsNaN(got) {
			t.Errorf("of weights %v: %v", k, got)
		}
	}
	if got := Weighted([]float64{1}, []float64{1}, 1, 1.5); !math.IsNaN(got) {
		t.Errorf("beyond 1: %v", got)
	}
}

// effective returns how many equal observations weights are worth (Kish).
func effective(w []float64) float64 { return float64(len(w)) * Jain(w) }
