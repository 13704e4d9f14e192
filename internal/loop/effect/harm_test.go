package effect

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// costly is a pair with shares of retransmission and a ratio of rates; 20 connections and 3 MB an arm.
func costly(t, c, ratio float64) Pair {
	arm := func(share, mean float64) Block {
		return Block{N: 20, MeanLog: mean, SentBytes: 3_000_000, RetransBytes: uint64(share * 3_000_000)}
	}
	return Pair{T: []Block{arm(t, 10+math.Log(ratio))}, C: arm(c, 10)}
}

func TestFastHarm(t *testing.T) {
	thin := costly(0.10, 0.01, 0.7)
	thin.C.SentBytes, thin.C.RetransBytes = 1_400_000, 14_000
	precise := Noise{Block: 0.01, Conn: 0.1}
	for _, k := range []struct {
		name  string
		pairs []Pair
		harm  bool
		why   string
	}{
		{"costs, brings nothing", []Pair{costly(0.04, 0.01, 1)}, true, "retransmits 4.0 % instead of 1.0 %, rate x 1.00"},
		{"costs two points just", []Pair{costly(0.03, 0.01, 1)}, true, "retransmits 3.0 % instead of 1.0 %, rate x 1.00"},
		{"costs less", []Pair{costly(0.029, 0.01, 1)}, false, ""},
		{"brings 20 %", []Pair{costly(0.10, 0.01, 1.2)}, false, ""},
		{"brings 5 %", []Pair{costly(0.10, 0.01, 1.05)}, true, "retransmits 10.0 % instead of 1.0 %, rate x 1.05"},
		{"too few packets", []Pair{thin}, false, ""},
		{"the mean of two", []Pair{costly(0.06, 0.01, 1), costly(0.05, 0.01, 1)}, true, "retransmits 5.5 % instead of 1.0 %, rate x 1.00"},
		{"one of two", []Pair{costly(0.06, 0.01, 1), costly(0.01, 0.01, 1)}, false, ""},
		{"one arm", []Pair{{T: costly(0.1, 0, 1).T}}, false, ""},
		{"nothing", nil, false, ""},
	} {
		if harm, why := FastHarm(k.pairs, precise, 0.05); harm != k.harm || why != k.why {
			t.Errorf("%s: %v, %q; want %v, %q", k.name, harm, why, k.harm, k.why)
		}
	}
	if harm, _ := FastHarm([]Pair{costly(0.10, 0.01, 1.05)}, DefaultNoise, 0.05); harm {
		t.Error("one pair of 20 connections a block, x 1.05, knows its rate to a third: harm should wait")
	}
}

// costs are what is done to networks in trials: nothing to every other one, and 8 points more loss,
// with four effects in turn, to the rest.
var costs = [...]struct{ effect, points float64 }{{1, 0}, {1, 0.08}, {0.8, 0.08}, {1.5, 0.08}, {2, 0.08}}

// lossy gives a pair's blocks shares about base, of a spread in ln.
func lossy(r *stat.Rand, p Pair, base, spread, points float64) Pair {
	share := func(more float64) uint64 { return uint64(15e6 * min(0.9, base*math.Exp(spread*gauss(r))+more)) }
	for b := range p.T {
		p.T[b].SentBytes, p.T[b].RetransBytes = 15e6, share(points)
	}
	p.C.SentBytes, p.C.RetransBytes = 15e6, share(0)
	return p
}

// costTrials are 40 networks for six hours, a look after each pair, the noise learnt on the way. It
// counts by kind what is ever called costly, and within three hours.
func costTrials(reps int, base, spread float64) (ever, soon [len(costs)]rate) {
	for rep := range reps {
		r := stat.NewRand(uint64(rep), 5)
		var all [40][]Pair
		kind := func(i int) int { return i % 2 * (1 + i/2%4) }
		for i := range all {
			k := costs[kind(i)]
			all[i] = city.with(k.effect, 3, 2).pairs(r, record.Prefix(i+1), 6)
			for j, p := range all[i] {
				all[i][j] = lossy(r, p, base, spread, k.points)
			}
		}
		var hour [40]int
		for h := 1; h <= 6; h++ {
			var known []Pair
			for _, pairs := range all {
				known = append(known, pairs[:h]...)
			}
			noise, loss := EstimateNoise(known), EstimateLoss(known)
			for i, pairs := range all {
				if harm, _ := FastHarm(pairs[:h], noise, loss); harm && hour[i] == 0 {
					hour[i] = h
				}
			}
		}
		for i, h := range hour {
			ever[kind(i)].count(h > 0)
			soon[kind(i)].count(h > 0 && h <= 3)
		}
	}
	return ever, soon
}

// TestCostKeepsItsWord: at most 1 % of the trials without effect are called costly, however loss
// spreads. Where it spreads little, 8 points that gain nothing are found, and 1.5 x is left alone.
func TestCostKeepsItsWord(t *testing.T) {
	reps := replicates(t, 20)
	for _, w := range []struct {
		base, spread float64
		least        float64 // of those at 0.8 x
	}{{0.01, 0.3, 0.9}, {0.03, 0.3, 0.9}, {0.03, 0.6, 0.6}, {0.01, 1, 0.6}, {0.03, 1, 0}} {
		ever, soon := costTrials(reps, w.base, w.spread)
		t.Logf("%g %% lost, spread %g: nothing done %v; 8 points at 1 x %v (3 h: %v), 0.8 x %v (%v), 1.5 x %v, 2 x %v",
			100*w.base, w.spread, ever[0], ever[1], soon[1], ever[2], soon[2], ever[3], ever[4])
		if ever[0].share() > 0.01+slack(0.01, 20*reps) || ever[2].share() < w.least-slack(0.2, 5*reps) || ever[3].share() > 0.05+slack(0.05, 5*reps) || ever[4].share() > 0.05+slack(0.05, 5*reps) {
			t.Errorf("%g %% lost, spread %g: %v", 100*w.base, w.spread, ever)
		}
	}
}

// TestFastHarmWhereLossMovesWithLoad: nothing happens to promoted networks, on a day of six pairs
// each, but their busy blocks lose more. They are as seldom called costly as where loss moves on its
// own: which block is control is drawn, whatever moves with what.
func TestFastHarmWhereLossMovesWithLoad(t *testing.T) {
	reps := replicates(t, 20)
	for _, together := range []bool{false, true} {
		r, called := stat.NewRand(14, 7), rate{}
		for range reps {
			var all [40][]Pair
			var known []Pair
			for i := range all {
				for range 6 {
					var blocks []Block
					for range 8 {
						busy, loss := 0.6*gauss(r), gauss(r)
						if together {
							loss = busy / 0.6
						}
						sent := 1e7 * math.Exp(busy)
						blocks = append(blocks, Block{N: 20, MeanLog: 10, SentBytes: uint64(sent), RetransBytes: uint64(min(0.9, 0.03*math.Exp(loss)) * sent)})
					}
					p := pairOf(blocks[0], blocks[1:]...)
					p.Prefix = record.Prefix(i + 1)
					all[i] = append(all[i], p)
				}
				known = append(known, all[i]...)
			}
			loss := EstimateLoss(known)
			for _, pairs := range all {
				harm := false
				for k := range pairs {
					now, _ := FastHarm(pairs[max(0, k-1):k+1], Noise{Block: 0.01, Conn: 0.1}, loss)
					harm = harm || now
				}
				called.count(harm)
			}
		}
		t.Logf("loss with load %t: called costly in %v of days", together, called)
		if called.share() > 0.01+slack(0.01, 40*reps) {
			t.Errorf("loss with load %t: called costly in %v of days", together, called)
		}
	}
}
