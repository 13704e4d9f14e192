package effect

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// TestLoadMovesWithLevel: nothing happens, but a network has more connections while it is
// slow, or while it is fast. The one control block of a promoted group counts as the seven
// treated ones do, in one network's evidence and over all.
func TestLoadMovesWithLevel(t *testing.T) {
	networks := min(5*replicates(t, 400), 10_000)
	for _, c := range []struct {
		name    string
		path    path
		group   int
		elastic float64
	}{
		{"promoted, load on its own", city, 8, 0}, {"promoted, slow when busy", city, 8, -1}, {"promoted, fast when busy", city, 8, 1},
		{"promoted, mobile, slow when busy", mobile, 8, -1}, {"on trial, mobile, slow when busy", mobile, 2, -1},
	} {
		w := c.path.with(1, 3, c.group)
		w.elastic = c.elastic
		r := stat.NewRand(14, 4)
		var all []Pair
		var each []float64
		for i := range networks {
			list := w.pairs(r, record.Prefix(i+1), 24)
			all = append(all, list...)
			each = append(each, Judge(list, EstimateNoise(list)).LogRatio)
		}
		mean, se := meanAndError(each)
		fleet := WholeFleet(all)
		t.Logf("%s: evidence x %.3f (+- %.3f), over all x %.3f", c.name, math.Exp(mean), se, math.Exp(fleet.LogRatio))
		// The standard error of the second is about that of the first; 3.3 of them are one in 1,000.
		if math.Abs(mean) > 3.3*se || math.Abs(fleet.LogRatio) > 3.3*se {
			t.Errorf("%s: want 1 +- %.3f", c.name, 3.3*se)
		}
	}
}

// TestLoadMovesWithLevelInQuantiles: the same for the quantiles of few pairs, whose interval is t
// over pairs; also where only the level moves, as the tail of seven blocks is that of the slowest.
func TestLoadMovesWithLevelInQuantiles(t *testing.T) {
	reps := replicates(t, 200)
	for _, elastic := range []float64{0, -1} {
		c := mobile.with(1, 4, 8)
		c.elastic = elastic
		var logs [3][]float64
		for i := range reps {
			for q, got := range Pool(samplesOf(stat.NewRand(uint64(i), 41), c, 8, 1), 1).Ratios {
				if got.High > 0 {
					logs[q] = append(logs[q], math.Log(got.Ratio))
				}
			}
		}
		for q, list := range logs {
			mean, se := meanAndError(list)
			t.Logf("elasticity %v, p%.0f: x %.3f (+- %.3f) in %d", elastic, 100*Quantiles[q], math.Exp(mean), se, len(list))
			if math.Abs(mean) > 3.3*se || len(list) < reps/2 {
				t.Errorf("elasticity %v, p%.0f: want 1 +- %.3f", elastic, 100*Quantiles[q], 3.3*se)
			}
		}
	}
}
