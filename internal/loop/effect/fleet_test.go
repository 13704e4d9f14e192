package effect

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// TestWholeFleetByHand: 40 pairs of four prefixes, all of one weight, half of them at -1 and
// half at -0.5: mean -0.75, squares sum to 40 / 16.
func TestWholeFleetByHand(t *testing.T) {
	var pairs []Pair
	for i := range 40 {
		pairs = append(pairs, Pair{Prefix: record.Prefix(i % 4), Group: int64(i), End: 1200 * int64(i+1), T: []Block{block(5, -1+0.5*float64(i/20))}, C: block(5, 0)})
	}
	pairs = append(pairs, Pair{Prefix: 99, T: []Block{block(5, 7)}})
	got := WholeFleet(pairs)
	c := math.Pow(13*400, 1.0/40)
	r := math.Sqrt(2.5) / 40 * math.Sqrt(40*(c-1)/(1-c/13))
	if got.Pairs != 40 || got.Prefixes != 4 || math.Abs(got.Worth-40) > 1e-9 || !got.Known ||
		math.Abs(got.LogRatio+0.75) > 1e-9 || math.Abs(got.Low+0.75+r) > 1e-9 || math.Abs(got.High+0.75-r) > 1e-9 {
		t.Errorf("%+v, want -0.75 -+ %v", got, r)
	}
	if few := WholeFleet(pairs[:7]); few.Known || few.Low != 0 || few.Pairs != 7 || few.BoundsIn != 1200 {
		t.Errorf("7 pairs: %+v", few)
	}
	for i := range pairs {
		pairs[i].Prefix = record.Prefix(i % 2)
	}
	if two := WholeFleet(pairs); two.Known {
		t.Errorf("two prefixes: %+v", two)
	}
	if none := WholeFleet(nil); none != (Fleet{}) {
		t.Errorf("nothing: %+v", none)
	}
}

// TestTraffic: the connections of all blocks, whichever of them is the control block.
func TestTraffic(t *testing.T) {
	for _, p := range []Pair{pairOf(block(10, 0), seven(10, 0)...), pairOf(block(40, 0), block(40, 0)), pairOf(block(70, 0), block(4, 0), block(6, 0))} {
		if got := p.traffic(); got != 80 {
			t.Errorf("%+v: %v, want 80", p, got)
		}
	}
}

// fleet is some prefixes by hour, with their traffic spread by so much of ln.
func fleet(r *stat.Rand, prefixes, hours int, uneven float64, effect func(i int) float64) [][]Pair {
	byHour := make([][]Pair, hours)
	for i := range prefixes {
		c := city.with(effect(i), 3*math.Exp(uneven*gauss(r)), 2)
		for h, p := range c.pairs(r, record.Prefix(i+1), hours) {
			byHour[h] = append(byHour[h], p)
		}
	}
	return byHour
}

// excluded reports whether the bounds, looked at each hour, ever say harm, and whether those of an
// interval that is meant to be looked at once do.
func excluded(byHour [][]Pair) (always, once bool) {
	var all []Pair
	for _, more := range byHour {
		all = append(all, more...)
		f := WholeFleet(all)
		always = always || f.Known && f.High < 0
		se := (f.High - f.Low) / 2 / fleetFactor(f.Worth)
		once = once || f.Known && f.LogRatio+1.96*se < 0
	}
	return always, once
}

// TestFleetBoundsHoldAtAnyTime: 12 prefixes, 48 h, a look in each hour, no effect; or effects from
// 0.5 to 2 that cancel over the traffic.
func TestFleetBoundsHoldAtAnyTime(t *testing.T) {
	reps := replicates(t, 40)
	for _, k := range []struct {
		name   string
		uneven float64
		effect func(int) float64
	}{{"no effect", 1, func(int) float64 { return 1 }}, {"mixed", 0, func(i int) float64 { return math.Exp2(float64(i%3 - 1)) }}} {
		var always, once rate
		for i := range reps {
			a, o := excluded(fleet(stat.NewRand(uint64(i), 1), 12, 48, k.uneven, k.effect))
			always.count(a)
			once.count(o)
		}
		t.Logf("%s: harm in %v, by the interval for one look in %v", k.name, always, once)
		if always.share() > Alpha/2+slack(Alpha/2, reps) {
			t.Errorf("%s: harm in %v", k.name, always)
		}
		if k.uneven > 0 && once.share() <= Alpha {
			t.Errorf("%s: one look would say harm in %v: the comment is wrong", k.name, once)
		}
	}
}

// TestCost: the mean of the pairs' shares; a pair that sent too little in one arm has none.
func TestCost(t *testing.T) {
	sent := func(retrans uint64) Block { return Block{N: 5, SentBytes: 100_000_000, RetransBytes: retrans} }
	pairs := []Pair{
		{Prefix: 1, T: []Block{sent(4_000_000)}, C: sent(1_000_000)},
		{Prefix: 2, T: []Block{sent(2_000_000), sent(2_000_000)}, C: sent(0)},
		{Prefix: 3, T: []Block{{N: 5, SentBytes: 10, RetransBytes: 10}}, C: sent(0)},
	}
	if got := CostOf(pairs); got.Pairs != 2 || math.Abs(got.Treated-0.03) > 1e-12 || math.Abs(got.Control-0.005) > 1e-12 {
		t.Errorf("%+v", got)
	}
	if none := CostOf(nil); none != (Cost{}) {
		t.Errorf("nothing: %+v", none)
	}
}
