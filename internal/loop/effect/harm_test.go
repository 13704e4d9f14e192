package effect

import (
	"math"
	"testing"

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
		{"the mean of two", []Pair{costly(0.06, 0.01, 1), costly(0.01, 0.01, 1)}, true, "retransmits 3.5 % instead of 1.0 %, rate x 1.00"},
		{"one arm", []Pair{{T: costly(0.1, 0, 1).T}}, false, ""},
		{"nothing", nil, false, ""},
	} {
		if harm, why := FastHarm(k.pairs, precise); harm != k.harm || why != k.why {
			t.Errorf("%s: %v, %q; want %v, %q", k.name, harm, why, k.harm, k.why)
		}
	}
	if harm, _ := FastHarm([]Pair{costly(0.10, 0.01, 1)}, DefaultNoise); harm {
		t.Error("one pair of 20 connections a block, x 1.00, knows its rate to a third: harm should wait")
	}
}

// TestFastHarmWhereLossMovesWithLoad: nothing happens to a promoted network, but its busy blocks
// lose more. It is called harmful as often as where the loss moves on its own: which block is
// control is drawn, whatever moves with what. 3.3 standard errors of the difference are allowed.
func TestFastHarmWhereLossMovesWithLoad(t *testing.T) {
	reps := replicates(t, 4000)
	var called [2]rate
	for i := range called {
		r := stat.NewRand(14, 7)
		for range reps {
			var blocks []Block
			for range 8 {
				busy, loss := 0.6*gauss(r), 0.6*gauss(r)
				if i == 1 {
					loss = busy
				}
				sent := 1e7 * math.Exp(busy)
				blocks = append(blocks, Block{N: 20, MeanLog: 10, SentBytes: uint64(sent), RetransBytes: uint64(0.03 * math.Exp(loss) * sent)})
			}
			harm, _ := FastHarm([]Pair{pairOf(blocks[0], blocks[1:]...)}, Noise{Block: 0.01, Conn: 0.1})
			called[i].count(harm)
		}
	}
	t.Logf("called harm in %v, and in %v where loss moves with load", called[0], called[1])
	if math.Abs(called[1].share()-called[0].share()) > math.Sqrt2*slack(called[0].share(), reps) {
		t.Error("how often depends on what loss moves with")
	}
}

// TestFastHarmIsRareWhereItHelps: a treatment that retransmits 8 points more and helps
// is seldom called harmful on any of six looks over the growing trial, one that is no
// faster usually is.
func TestFastHarmIsRareWhereItHelps(t *testing.T) {
	reps := replicates(t, 200)
	for _, k := range []struct{ effect, perWindow, least, most float64 }{
		{3, 1, 0, 0.01}, {2, 1, 0, 0.03}, {2, 3, 0, 0.01}, {1.5, 3, 0, 0.05}, {1, 3, 0.4, 1}, {0.8, 3, 0.8, 1}, {0.8, 20, 0.9, 1},
	} {
		r := stat.NewRand(uint64(100*k.effect), 6)
		var called rate
		for range reps {
			pairs, harm := city.with(k.effect, k.perWindow, 2).pairs(r, 1, 6), false
			for i := range pairs {
				for b := range pairs[i].T {
					pairs[i].T[b].SentBytes, pairs[i].T[b].RetransBytes = 5_000_000, 450_000
				}
				pairs[i].C.SentBytes, pairs[i].C.RetransBytes = 5_000_000, 50_000
				now, _ := FastHarm(pairs[:i+1], DefaultNoise)
				harm = harm || now
			}
			called.count(harm)
		}
		t.Logf("%v x, %v connections a window: called harm in %v", k.effect, k.perWindow, called)
		if called.share() < k.least-slack(0.1, reps) || called.share() > k.most+slack(0.1, reps) {
			t.Errorf("%v x, %v connections: %v, want %v to %v", k.effect, k.perWindow, called, k.least, k.most)
		}
	}
}
