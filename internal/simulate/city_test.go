package simulate

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/simulate/city"
	"github.com/congctl/congctl/internal/tcp/record"
)

// town is a city that a test can afford: a fifth of the size, half the time.
func town(seed uint64, experiment bool) CityOptions {
	o := CityOptions{Seed: seed, Prefixes: 400, Hours: 36, Rules: policy.DefaultRules(), Holdout: 50, AA: 50}
	if !experiment {
		o.Rules = o.Rules.ByLevel()
	}
	return o
}

func run(t *testing.T, o CityOptions) CityReport {
	t.Helper()
	r, err := City(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTown holds the loop to what it must reach: docs/verb/simulate.md has the whole
// city's figures. One town has 23 to 26 prefixes that can be helped, so one of them
// missed is 4 %: the share is held over the three towns together.
func TestTown(t *testing.T) {
	inForce, helped := 0.0, 0
	for seed := uint64(1); seed <= 3; seed++ {
		r := run(t, town(seed, true))
		t.Logf("seed %d: %.0f %% of %d helped promoted, p10 %+.1f %% (helped alone %+.1f %%), boundary %+.2f and %+.2f %%, %d harmed tried for %.1f h, %d of %d promoted without any effect",
			seed, 100**r.HelpedInForce, r.Helped, 100*r.P10Gain, 100*r.P10GainOracle, 100*r.BoundaryChange, 100*r.BoundaryDrift, r.HarmedTried, *r.HarmedHours, r.NullPromoted, r.NullTried)
		inForce += *r.HelpedInForce * float64(r.Helped)
		helped += r.Helped
		if *r.HarmedHours > 9 || r.Braked != "" { // a quarter of the time
			t.Errorf("seed %d: the harmed treated for %.1f h, brake %q", seed, *r.HarmedHours, r.Braked)
		}
		if r.P10Gain < 0.20 {
			t.Errorf("seed %d: p10 %+.1f %%, wanted at least +20 %%", seed, 100*r.P10Gain)
		}
		if max(math.Abs(r.BoundaryChange), math.Abs(r.BoundaryDrift)) > 0.03 {
			t.Errorf("seed %d: boundary %+.1f %% and %+.1f %%, wanted at most 3 %%", seed, 100*r.BoundaryChange, 100*r.BoundaryDrift)
		}
		if r.HarmedTried == 0 || r.NullTried == 0 {
			t.Errorf("seed %d: too quiet a town: %+v", seed, r)
		}
	}
	if inForce < 0.85*float64(helped) {
		t.Errorf("%.0f of %d helped promoted, wanted 85 %%", inForce, helped)
	}
}

// TestTownByLevel: level alone treats the harmed as long as they are slow, and
// that is what trials are for.
func TestTownByLevel(t *testing.T) {
	on, off := run(t, town(1, true)), run(t, town(1, false))
	if off.PromotionHoursP50 != nil || off.NullPromoted != 0 {
		t.Errorf("promotions without an experiment: %+v", off)
	}
	if *off.HelpedInForce < 0.8 || *off.HarmedHours < 2**on.HarmedHours {
		t.Errorf("helped %.2f, harmed %.1f h (with trials %.1f h)", *off.HelpedInForce, *off.HarmedHours, *on.HarmedHours)
	}
}

// TestTownOfSmallEffects: 1.5 x with three connections a window is found, kept, and seldom doubted.
func TestTownOfSmallEffects(t *testing.T) {
	var inForce, helped, promotions, retrials int
	var vain, conns float64
	for seed := uint64(1); seed <= 3; seed++ {
		o := town(seed, true)
		o.World = city.Three
		w, err := walk(t.Context(), o, true, func(float64) {})
		if err != nil {
			t.Fatal(err)
		}
		promotions, retrials, vain, conns = promotions+w.promotions, retrials+w.retrials, vain+w.vain, conns+w.conns
		for i, l := range w.lives {
			if p := &w.city.Places[i]; w.force.treatable(i) {
				helped += one(p.Helped())
				inForce += one(p.Helped() && l.promoted)
			}
		}
	}
	t.Logf("%d of %d helped promoted, %d promotions, %d second looks, %.2f %% of the connections in vain", inForce, helped, promotions, retrials, 100*vain/conns)
	if 4*inForce < 3*helped || 2*retrials > promotions || vain > 0.03*conns {
		t.Errorf("%d of %d helped promoted, %d promotions, %d second looks, %.2f %% of the connections in vain", inForce, helped, promotions, retrials, 100*vain/conns)
	}
}

// TestTownIsOne: the same seed gives the same report, another one another, and knowing
// the truth is worth more than not.
func TestTownIsOne(t *testing.T) {
	o := town(7, true)
	o.Prefixes, o.Hours = 150, 8
	a, b := run(t, o), run(t, o)
	o.Seed++
	c := run(t, o)
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, c) {
		t.Errorf("\n%+v\n%+v\n%+v", a, b, c)
	}
	if a.P10GainFaster < a.P10GainAll || a.P10GainFaster < a.P10GainOracle || a.P10GainOracle <= 0 {
		t.Errorf("a world that knows more gains less: %+v", a)
	}
}

func TestCityStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	_, err := City(ctx, town(1, true), func(float64) { stop() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestRatesQuantile against values that are known.
func TestRatesQuantile(t *testing.T) {
	var r rates
	for i := range 1000 {
		r.add(10 + float64(i)/100)
	}
	for _, q := range []float64{0.1, 0.5, 0.9} {
		if got, want := r.quantile(q), 10+q*10; got < want-0.011 || got > want+0.011 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	r.add(-5)
	r.add(99)
	if r.n != 1002 || r.counts[0] != 1 || r.counts[rateBins-1] != 1 {
		t.Errorf("what is out of range was lost: %d", r.n)
	}
}

// TestBrakeHolds: once the brake is pulled no prefix is treated again.
func TestBrakeHolds(t *testing.T) {
	o := town(1, true)
	c := city.New(1, 100, 300, 0)
	f := newForce(o, c)
	for i := range f.in {
		if !f.treatable(i) {
			continue
		}
		s := policy.Selected{Prefix: c.Places[i].Prefix, State: policy.StatePromoted}
		f.take(policy.Decision{Selection: []policy.Selected{s}})
		if f.served(i).Arm == record.ArmNone {
			t.Fatal("a selected prefix is not served")
		}
		f.take(policy.Decision{Brake: "harm"})
		f.take(policy.Decision{Selection: []policy.Selected{s}})
		if !f.stopped || f.served(i).Arm != record.ArmNone {
			t.Fatal("served behind the brake")
		}
		return
	}
}
