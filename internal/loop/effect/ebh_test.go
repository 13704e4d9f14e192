package effect

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// TestEBHByHand: at 5 % of four, the k-th largest must reach 80, 40, 26.7, 20.
func TestEBHByHand(t *testing.T) {
	for _, k := range []struct {
		e    []float64
		want []bool
	}{
		{[]float64{20}, []bool{true}},
		{[]float64{19.9}, []bool{false}},
		{[]float64{79, 1, 1, 1}, []bool{false, false, false, false}},
		{[]float64{1, 80, 1, 39}, []bool{false, true, false, false}},
		{[]float64{41, 1, 41, 0}, []bool{true, false, true, false}},
		{[]float64{21, 20.1, 30, 25}, []bool{true, true, true, true}},
		{[]float64{math.NaN(), 50}, []bool{false, true}},
		{nil, []bool{}},
	} {
		logE := make([]float64, len(k.e))
		for i, e := range k.e {
			logE[i] = math.Log(e)
		}
		if got := EBH(logE, 0.05); !slices.Equal(got, k.want) {
			t.Errorf("%v: %v, want %v", k.e, got, k.want)
		}
	}
}

// TestEBHAgainstSubsets: of all self-consistent sets, in which each member reaches
// K / (alpha x size), the rejected one is the largest (Wang and Ramdas, 2022, section 4).
func TestEBHAgainstSubsets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		logE := rapid.SliceOfN(rapid.Float64Range(-1, 6), 1, 9).Draw(rt, "logE")
		var best uint
		for set := uint(1); set < 1<<len(logE); set++ {
			need, fits := math.Log(float64(len(logE))/(0.05*float64(bits.OnesCount(set)))), true
			for i, e := range logE {
				fits = fits && (set>>i&1 == 0 || e >= need)
			}
			if fits && bits.OnesCount(set) > bits.OnesCount(best) {
				best = set
			}
		}
		for i, yes := range EBH(logE, 0.05) {
			if yes != (best>>i&1 == 1) {
				rt.Fatalf("%v: number %d is %v, the largest set is %b", logE, i, yes, best)
			}
		}
	})
}

// TestEBHKeepsFalseDiscoveriesRare: 40 prefixes, eight of them twice as fast, decided
// on each hour for eight hours; promoted ones stay promoted.
func TestEBHKeepsFalseDiscoveriesRare(t *testing.T) {
	reps := max(10, replicates(t, 10)/40)
	wrong, found := 0.0, 0.0
	for i := range reps {
		r := stat.NewRand(uint64(i), 5)
		kinds := slices.Repeat([]path{city.with(1, 6, 2)}, 40)
		for k := range 8 {
			kinds[k] = city.with(2, 6, 2)
		}
		prefixes := population(r, kinds, 8)
		noise := learnt(prefixes)
		promoted := map[record.Prefix]bool{}
		for k := range noise {
			logE := make([]float64, len(prefixes))
			for p, pairs := range prefixes {
				logE[p] = Judge(pairs[:k+1], noise[k]).LogEBenefit
			}
			for p, yes := range EBH(logE, Alpha) {
				if yes {
					promoted[prefixes[p][0].Prefix] = true
				}
			}
		}
		false1 := 0.0
		for p := range promoted {
			if p > 8 {
				false1++
			}
		}
		wrong += false1 / max(1, float64(len(promoted))) / float64(reps)
		found += (float64(len(promoted)) - false1) / 8 / float64(reps)
	}
	t.Logf("found %.1f %%, false among the promoted %.2f %%, %d cities", 100*found, 100*wrong, reps)
	if wrong > Alpha || found < 0.8 {
		t.Errorf("found %v, false %v", found, wrong)
	}
}
