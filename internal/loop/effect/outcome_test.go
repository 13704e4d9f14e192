package effect

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// TestBothByHand: the mean of the two evidences, the rate's alone where goodput is known in fewer than
// two pairs, and the outcome that shows more harm.
func TestBothByHand(t *testing.T) {
	slow := func(rate, goodput float64) Pair {
		c, tr := block(40, 10), block(40, 10+rate)
		c.Goodput, tr.Goodput = Moments{N: 40, Mean: 9}, Moments{N: 40, Mean: 9 + goodput}
		return pairOf(c, tr)
	}
	blind := slow(-1, 0)
	blind.C.Goodput = Moments{}
	n := DefaultNoise
	for _, k := range []struct {
		name    string
		pairs   []Pair
		pairsOf int // that know goodput
		goodput bool
	}{
		{"goodput falls", []Pair{slow(0, -1), slow(0, -1), slow(0, -1)}, 3, true},
		{"the rate falls", []Pair{slow(-1, 0), slow(-1, 0), slow(-1, 0)}, 3, false},
		{"one pair knows goodput", []Pair{blind, blind, slow(0, -3)}, 1, false},
		{"none does", []Pair{blind, blind}, 0, false},
	} {
		o := JudgeBoth(k.pairs, n, n)
		want := Judge(k.pairs, n).LogEHarm
		if k.pairsOf >= 2 {
			want = math.Log((math.Exp(o.Rate.LogEHarm) + math.Exp(o.Goodput.LogEHarm)) / 2)
		}
		if _, goodput := o.Worse(); o.Goodput.Pairs != k.pairsOf || goodput != k.goodput || math.Abs(o.LogEHarm()-want) > 1e-12 {
			t.Errorf("%s: %+v, evidence %.3f, want %.3f", k.name, o, o.LogEHarm(), want)
		}
	}
	if o := JudgeBoth([]Pair{slow(0, -1), slow(0, -1), slow(0, -1)}, n, n); math.Abs(o.Goodput.LogRatio+1) > 1e-12 || o.Rate.LogRatio != 0 {
		t.Errorf("estimates %+v", o)
	}
}

// withGoodput gives a pair's blocks a second outcome: the rate's, with a spread of its own from block
// to block, and an effect besides.
func withGoodput(r *stat.Rand, p Pair, own, effect float64) Pair {
	of := func(b Block, more float64) Block {
		b.Goodput = Moments{N: b.N, Mean: b.MeanLog + own*gauss(r) + more, Var: b.VarLog}
		return b
	}
	for i := range p.T {
		p.T[i] = of(p.T[i], math.Log(effect))
	}
	p.C = of(p.C, 0)
	return p
}

// demotions of one prefix that is looked at after each pair: by the rate alone, by both, and by two
// tests that each have all of alpha.
type demotions struct{ rate, both, either rate }

// outcomeTrials are 40 networks for a day on trial, their noise learnt on the way.
func outcomeTrials(reps int, k path, own, goodput float64) (d demotions) {
	for rep := range reps {
		r := stat.NewRand(uint64(rep), 16)
		var all [40][]Pair
		var harmed [40][3]bool
		for i := range all {
			for _, p := range k.pairs(r, record.Prefix(i+1), 24) {
				all[i] = append(all[i], withGoodput(r, p, own, goodput))
			}
		}
		for h := 1; h <= len(all[0]); h++ {
			var known []Pair
			for _, pairs := range all {
				known = append(known, pairs[:h]...)
			}
			nr, ng := EstimateNoise(known), EstimateNoise(ByGoodput(known))
			for i, pairs := range all {
				o := JudgeBoth(pairs[:h], nr, ng)
				for j, e := range []float64{o.Rate.LogEHarm, o.LogEHarm(), max(o.Rate.LogEHarm, o.Goodput.LogEHarm)} {
					harmed[i][j] = harmed[i][j] || e >= -math.Log(Alpha)
				}
			}
		}
		for _, h := range harmed {
			d.rate.count(h[0])
			d.both.count(h[1])
			d.either.count(h[2])
		}
	}
	return d
}

// TestTwoOutcomesKeepTheirWord: at most 5 % of the networks without any effect are demoted in a day on
// trial, whether goodput follows the rate or moves on its own. Where goodput alone falls, both find
// what the rate does not; where both fall, the second costs next to nothing.
func TestTwoOutcomesKeepTheirWord(t *testing.T) {
	reps := replicates(t, 10)
	for _, w := range []struct {
		name              string
		rate, own, effect float64
		most              bool
		least             float64 // of both
	}{
		{"nothing, goodput as the rate", 1, 0, 1, true, 0},
		{"nothing, goodput near the rate", 1, 0.1, 1, true, 0},
		{"nothing, goodput on its own", 1, 0.4, 1, true, 0},
		{"goodput x 0.6", 1, 0.1, 0.6, false, 0.85},
		{"both x 0.6", 0.6, 0.1, 1, false, 0.85},
		{"goodput x 0.8", 1, 0.1, 0.8, false, 0.3},
		{"both x 0.75", 0.75, 0.1, 1, false, 0.8},
	} {
		d := outcomeTrials(reps, city.with(w.rate, 6, 2), w.own, w.effect)
		t.Logf("%s: demoted by the rate %v, by both %v, by either at full alpha %v", w.name, d.rate, d.both, d.either)
		if w.most && d.both.share() > Alpha+slack(Alpha, d.both.of) || d.both.share() < w.least-slack(0.2, d.both.of) {
			t.Errorf("%s: by both %v", w.name, d.both)
		}
	}
}
