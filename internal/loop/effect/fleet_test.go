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
		pairs = append(pairs, Pair{Prefix: record.Prefix(i % 4), T: []Block{block(5, -1+0.5*float64(i/20))}, C: block(5, 0)})
	}
	pairs = append(pairs, Pair{Prefix: 99, T: []Block{block(5, 7)}})
	got := WholeFleet(pairs)
	r := math.Sqrt(2.5) / 40 * math.Sqrt((1+1/3.16)*(math.Log(4.16)+2*math.Log(20)))
	if got.Pairs != 40 || got.Prefixes != 4 || math.Abs(got.Worth-40) > 1e-9 || !got.Known ||
		math.Abs(got.LogRatio+0.75) > 1e-9 || math.Abs(got.Low+0.75+r) > 1e-9 || math.Abs(got.High+0.75-r) > 1e-9 {
		t.Errorf("%+v, want -0.75 -+ %v", got, r)
	}
	pull, why := got.Brake()
	if want := "treatment is x 0.47 over 4 prefixes and 40 pairs (95 %, at any time: 0.42 to 0.53)"; !pull || why != want {
		t.Errorf("%v, %q; want %q", pull, why, want)
	}
	if few := WholeFleet(pairs[:29]); few.Known || few.Low != 0 || few.Pairs != 29 {
		t.Errorf("29 pairs: %+v", few)
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

// pulled is the hour at which the brake is pulled, looked at each hour; 0 if it is not. once
// is the same for an interval that is meant to be looked at once.
func pulled(byHour [][]Pair) (always, once int) {
	var all []Pair
	for h, more := range byHour {
		all = append(all, more...)
		f := WholeFleet(all)
		if pull, _ := f.Brake(); pull && always == 0 {
			always = h + 1
		}
		if f.Known && once == 0 {
			se := (f.High - f.Low) / 2 / math.Sqrt((1+1/(f.Worth*fleetTuning))*(math.Log1p(f.Worth*fleetTuning)-2*math.Log(Alpha)))
			if f.LogRatio+1.96*se < 0 {
				once = h + 1
			}
		}
	}
	return always, once
}

// TestBrakeIsNotPulledByItself: 12 prefixes, 48 h, a look in each hour, no effect; or
// effects from 0.5 to 2 that cancel over the traffic. The interval for one look would pull it.
func TestBrakeIsNotPulledByItself(t *testing.T) {
	reps := replicates(t, 40)
	for _, k := range []struct {
		name   string
		uneven float64
		effect func(int) float64
	}{{"no effect", 1, func(int) float64 { return 1 }}, {"mixed", 0, func(i int) float64 { return math.Exp2(float64(i%3 - 1)) }}} {
		var always, once rate
		for i := range reps {
			a, o := pulled(fleet(stat.NewRand(uint64(i), 1), 12, 48, k.uneven, k.effect))
			always.count(a > 0)
			once.count(o > 0)
		}
		t.Logf("%s: pulled in %v, by the interval for one look in %v", k.name, always, once)
		if always.share() > Alpha/2+slack(Alpha/2, reps) {
			t.Errorf("%s: pulled in %v", k.name, always)
		}
		if k.uneven > 0 && once.share() <= Alpha {
			t.Errorf("%s: one look would pull in %v: the comment is wrong", k.name, once)
		}
	}
}

// TestBrakeIsPulled: by a treatment of 0.5 x within hours, of 0.8 x within a day.
func TestBrakeIsPulled(t *testing.T) {
	for _, k := range []struct {
		effect float64
		within int
	}{{0.5, 6}, {0.8, 24}} {
		byHour := fleet(stat.NewRand(1, 2), 12, 24, 1, func(int) float64 { return k.effect })
		if at, _ := pulled(byHour); at == 0 || at > k.within {
			t.Errorf("%v x: pulled at hour %d", k.effect, at)
		}
	}
}
