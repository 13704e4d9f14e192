package effect

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// TestBenefitIsOneOnAverage: whatever the blocks show, over which of them is the control block the evidence of one group is 1.
func TestBenefitIsOneOnAverage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		blocks := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Block {
			return Block{N: rapid.IntRange(1, 50).Draw(rt, "n"), MeanLog: rapid.Float64Range(10, 18).Draw(rt, "ln rate")}
		}), 2, 16).Draw(rt, "blocks")
		sum := 0.0
		for i, c := range blocks {
			if l := LogBenefit([]Pair{{C: c, T: slices.Delete(slices.Clone(blocks), i, i+1)}}); l > leastLogE {
				sum += math.Exp(l)
			}
		}
		if mean := sum / float64(len(blocks)); math.Abs(mean-1) > 1e-6 {
			rt.Errorf("%v", mean)
		}
	})
}

// TestBenefitByHand: two blocks of one connection each, ln rate 1 apart. A mean of either varies by 0.2² + 0.66² = 0.4756.
func TestBenefitByHand(t *testing.T) {
	slow := Pair{T: []Block{block(1, 15)}, C: block(1, 14)}
	want := 0.0
	for _, theta := range []float64{0.18, 0.4, 0.9} {
		want += (1 + math.Tanh(theta/0.4756/2)) / 3
	}
	if got := math.Exp(LogBenefit([]Pair{slow})); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := LogBenefit(nil); got != 0 {
		t.Errorf("%v of no pairs", got)
	}
	for _, far := range [][2]float64{{700, 0}, {0, 700}} { // no infinity, for which JSON has no text
		if got := LogBenefit(slices.Repeat([]Pair{{T: []Block{block(1000, far[0])}, C: block(1000, far[1])}}, 300)); got < leastLogE || got > 1000 {
			t.Errorf("%v", got)
		}
	}
}

// TestBenefitOfLoadThatMoves: nothing happens, but load moves with the level, which drifts; one network in 20 at most is ever at 20.
func TestBenefitOfLoadThatMoves(t *testing.T) {
	for _, elastic := range []float64{-1, 1} {
		for _, group := range []int{2, 16} {
			c, ever := mobile.with(1, 3, group), rate{}
			c.elastic = elastic
			for i := range replicates(t, 400) {
				pairs, crossed := c.pairs(stat.NewRand(uint64(i), 77), 1, 48), false
				for k := range pairs {
					crossed = crossed || LogBenefit(pairs[:k+1]) >= math.Log(1/Alpha)
				}
				ever.count(crossed)
			}
			t.Logf("load to the power of %v, groups of %d: %v", elastic, group, ever)
			if ever.share() > Alpha+slack(Alpha, ever.of) {
				t.Errorf("load to the power of %v, groups of %d: %v", elastic, group, ever)
			}
		}
	}
}

// TestUntilShown holds it to e-BH as it is written: shown is what is among the first k.
func TestUntilShown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		logE := rapid.SliceOfN(rapid.Float64Range(-3, 12), 1, 30).Draw(rt, "ln E")
		factors := UntilShown(logE)
		for i, l := range logE {
			if shown := slowlyShown(logE, 1)[i]; shown != (factors[i] <= 1) {
				rt.Fatalf("%v: %v, factor %v", l, shown, factors[i])
			}
			if f := factors[i]; !math.IsInf(f, 1) && (!slowlyShown(logE, f*1.000001)[i] || slowlyShown(logE, f*0.999999)[i]) {
				rt.Fatalf("%v: the factor is not %v", l, f)
			}
			if l <= 0 && !math.IsInf(factors[i], 1) {
				rt.Fatalf("%v will be shown", l)
			}
		}
	})
}

// slowlyShown is e-BH over evidence that has grown by a factor.
func slowlyShown(logE []float64, factor float64) []bool {
	shown := make([]bool, len(logE))
	for k := 1; k <= len(logE); k++ {
		var above []int
		for i, l := range logE {
			if factor*l >= math.Log(float64(len(logE))/(Alpha*float64(k))) {
				above = append(above, i)
			}
		}
		if len(above) >= k {
			for _, i := range above {
				shown[i] = true
			}
		}
	}
	return shown
}
