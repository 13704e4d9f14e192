package effect

import (
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// TestHoldOutByHand: 20 prefixes at -+1 beside 20 at 2 -+1: the difference is 2, its
// standard error sqrt(2 x 20/(19 x 20)), its degrees 38: t is 2.0244.
func TestHoldOutByHand(t *testing.T) {
	held, open := slices.Repeat([]float64{-1, 1}, 10), slices.Repeat([]float64{1, 3}, 10)
	got := HoldOut(held, open)
	half := 2.02439 * math.Sqrt(2./19)
	if !got.Known || math.Abs(math.Log(got.Ratio)-2) > 1e-9 || math.Abs(math.Log(got.Low)-2+half) > 1e-4 || math.Abs(math.Log(got.High)-2-half) > 1e-4 {
		t.Errorf("%+v, want ln 2 -+ %v", got, half)
	}
	if got := HoldOut(held[:19], open); got.Known || got.Ratio != 0 || got.Why != "fewer than 20 prefixes of the slow group are held out" {
		t.Errorf("19 held out: %+v", got)
	}
	if got := HoldOut(held, open[:5]); got.Known || got.Why == "" {
		t.Errorf("5 open: %+v", got)
	}
}

func TestHoldOutHolds(t *testing.T) {
	reps := replicates(t, 400)
	r := stat.NewRand(20, 20)
	var hold rate
	for range reps {
		held, open := make([]float64, 22), make([]float64, 300)
		for i := range held {
			held[i] = 14 + spread*gauss(r)
		}
		for i := range open {
			open[i] = 14 + math.Log(1.5) + 1.5*spread*gauss(r) // helped unequally
		}
		c := HoldOut(held, open)
		hold.count(c.Low <= 1.5 && 1.5 <= c.High)
	}
	t.Logf("the hold-out's interval holds in %v", hold)
	if math.Abs(hold.share()-0.95) > slack(0.95, reps)+0.005 {
		t.Errorf("holds in %v", hold)
	}
}

// TestBeforeAfterIsRegression: nothing is done to 2,000 prefixes. Those that were in the
// slowest fifth in some window are a quarter faster afterwards, in control blocks and in
// "treated" ones alike.
func TestBeforeAfterIsRegression(t *testing.T) {
	r := stat.NewRand(28, 28)
	var all []Course
	for range 2000 {
		level := 14 + spread*gauss(r)
		luck := func() float64 { return level + 0.3*gauss(r) } // drift and chance of one spell
		all = append(all, Course{Before: luck(), Treated: luck(), Control: luck()})
	}
	slices.SortFunc(all, func(a, b Course) int {
		if a.Before < b.Before {
			return -1
		}
		return 1
	})
	got := BeforeAfter(all[:400])
	t.Logf("slowest fifth, nothing done: %.2f x, untreated %.2f x, effect %.2f x", got.Naive, got.Untreated, got.Effect)
	if got.Naive < 1.2 || got.Naive > 1.35 || math.Abs(got.Effect-1) > 0.05 || math.Abs(got.Untreated*got.Effect/got.Naive-1) > 1e-9 || got.Label != NoEvidence {
		t.Errorf("%+v", got)
	}
	if none := BeforeAfter(nil); none.Naive != 0 || none.Prefixes != 0 || none.Label != NoEvidence {
		t.Errorf("of nothing: %+v", none)
	}
}

// TestReadings: A/A at 1 is sound, at 0.6 and at 1.6 it is faulty.
func TestReadings(t *testing.T) {
	at := func(effect float64) Pooled {
		return Pool(samplesOf(stat.NewRand(5, 5), city.with(effect, 6, 2), 6, 6), 1)
	}
	if p := at(1); p.Faulty() {
		t.Errorf("no effect: %+v", p.Ratios)
	}
	if p := at(0.6); p.excludes1() != -1 || !p.Faulty() {
		t.Errorf("0.6 x: %+v", p.Ratios)
	}
	if p := at(1.6); p.excludes1() != 1 || !p.Faulty() {
		t.Errorf("1.6 x: %+v", p.Ratios)
	}
	if p := Pool(few(1, 9), 1); p.Faulty() {
		t.Errorf("without an interval there is no verdict: %+v", p)
	}
}

func TestByLabel(t *testing.T) {
	r := stat.NewRand(6, 6)
	list := samplesOf(r, city.with(1.6, 3, 2), 6, 3)
	name := func(p record.Prefix) string { return [...]string{"fibre", "", "lossy"}[p%3] }
	got := ByLabel(list, name, 4)
	if len(got) != 3 || got[0].Label != "" || got[1].Label != "fibre" || got[2].Label != "lossy" {
		t.Fatalf("%+v", got)
	}
	for _, l := range got {
		only := slices.DeleteFunc(slices.Clone(list), func(s Sample) bool { return name(s.Prefix) != l.Label })
		if want := Pool(only, 4); l.Pooled != want || l.Pairs != 6 {
			t.Errorf("%q: %+v, on its own %+v", l.Label, l.Pooled, want)
		}
	}
}
