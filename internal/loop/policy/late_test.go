package policy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// lateRow is a treated row of these late rates, as a window makes it.
func lateRow(rates []float64, capped bool) record.Window {
	w := record.Window{Arm: record.ArmTreatment, Cong: "bbr", Capped: capped, LateConns: uint32(len(rates))}
	for i, q := range record.LateQuantiles {
		w.LateBytesPerS[i] = stat.Quantile(slices.Clone(rates), q)
	}
	return w
}

// TestLateOfOneAndTwo: those are rebuilt exactly, and so are the upper two of three.
func TestLateOfOneAndTwo(t *testing.T) {
	for _, rates := range [][]float64{{700}, {500, 900}, {900, 500}, {100, 500, 900}, {450, 500, 2000}} {
		var s pacedSide
		w := lateRow(rates, false)
		s.take(&w)
		var v lateValues
		v.add(s)
		slices.Sort(rates)
		for i := range min(len(rates), 2) {
			want, got := rates[len(rates)-1-i], v.list[len(v.list)-1-i].at
			if math.Abs(got-want) > 0.01 {
				t.Errorf("%v: value %d is %v, want %v", rates, len(rates)-1-i, got, want)
			}
		}
	}
}

// TestLatePooled compares pooled quantiles with those of all connections: clients differ, each window has its own
// number of them and its own level.
func TestLatePooled(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	for _, c := range []struct {
		spread, level, most float64 // most: mean error of p50 and p95
		conns               int
	}{
		{0.05, 0, 0.001, 1}, {0.05, 0.05, 0.005, 4}, {0.2, 0.05, 0.015, 4}, {0.2, 0, 0.02, 15}, {0.35, 0.1, 0.02, 4}, {0.35, 0.1, 0.02, 15}, {0.35, 0, 0.02, 200}, {0.5, 0.1, 0.04, 8},
	} {
		var off [2]float64
		const runs = 60
		for range runs {
			var v lateValues
			var all []float64
			for range 72 {
				level, n := rng.NormFloat64()*c.level, 1+rng.IntN(2*c.conns-1)
				rates := make([]float64, n)
				for i := range rates {
					rates[i] = 1e6 * math.Exp(level+c.spread*rng.NormFloat64())
				}
				all = append(all, rates...)
				w := lateRow(rates, false)
				var s pacedSide
				s.take(&w)
				v.add(s)
			}
			got := v.pooled()
			if got.conns != len(all) {
				t.Fatalf("%d connections, want %d", got.conns, len(all))
			}
			for i, x := range []float64{got.p50, got.p95} {
				off[i] += math.Log(x/stat.Quantile(slices.Clone(all), record.LateQuantiles[i])) / runs
			}
		}
		t.Logf("spread %.2f, levels %.2f, %3d connections: p50 %+.4f, p95 %+.4f", c.spread, c.level, c.conns, off[0], off[1])
		if math.Abs(off[0]) > c.most || math.Abs(off[1]) > c.most {
			t.Errorf("spread %v, %d connections: p50 is off by %.4f, p95 by %.4f; at most %v", c.spread, c.conns, off[0], off[1], c.most)
		}
	}
}
