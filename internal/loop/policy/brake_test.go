package policy

import (
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/loop/effect"
)

// fleet is the usual world: 60 networks as in the simulated city.
var fleet = fleetWorld{slow: 60, drift: 0.25, uneven: 1, often: 3}

func (f fleetWorld) with(change func(*fleetWorld)) fleetWorld {
	change(&f)
	return f
}

// listed has all of them in treatment.always: belief takes no network out, and as much as can be is under treatment.
var listed = fleet.with(func(f *fleetWorld) { f.kept = true })

// TestBrakeOfNoEffect: days on which the treatment does nothing, whatever else happens. No brake;
// and the evidence keeps its word also where it is small enough to be counted: it reaches 20 of 365 in at most one day of 20.
func TestBrakeOfNoEffect(t *testing.T) {
	days, high := 0, 0
	for _, c := range []struct {
		name  string
		world fleetWorld
	}{
		{"city", fleet},
		{"city, come and go", fleet.with(func(f *fleetWorld) { f.churn = true })},
		{"all listed", listed},
		{"drift 0.6", listed.with(func(f *fleetWorld) { f.drift = 0.6 })},
		{"slow while busy", listed.with(func(f *fleetWorld) { f.drift, f.elastic = 0.6, -1 })},
		{"fast while busy", listed.with(func(f *fleetWorld) { f.drift, f.elastic = 0.6, 1 })},
		{"shocks", listed.with(func(f *fleetWorld) { f.shock = 0.7 })},
		{"12 networks", listed.with(func(f *fleetWorld) { f.slow = 12 })},
		{"200 networks, very uneven", listed.with(func(f *fleetWorld) { f.slow, f.uneven = 200, 1.5 })},
		{"come and go", listed.with(func(f *fleetWorld) { f.churn = true })},
		{"all of it", fleetWorld{slow: 30, drift: 0.6, elastic: -1, shock: 0.7, uneven: 1.5, often: 2, churn: true, oneSite: 0.4, kept: true}},
	} {
		n, brakes, demoted, shown, top := replicates(t, 1), 0, 0, 0, 0.0
		for seed := range n {
			d := c.world.run(uint64(seed), 24)
			if d.brake >= 0 {
				brakes++
			}
			if d.top >= 20.0/365 {
				high++
			}
			demoted, shown, top = demoted+d.demoted, shown+len(d.shown), max(top, d.top)
		}
		days += n
		t.Logf("%-26s %4d days, %d brakes, evidence at most %.2g, %.2f demoted a day, a benefit of %d shown", c.name, n, brakes, top, float64(demoted)/float64(n), shown)
		if share := float64(shown) / float64(n*c.world.slow); share > effect.Alpha { // ever; at each look it is far less
			t.Errorf("%s: a benefit is shown of %.1f %% of the networks", c.name, 100*share)
		}
		if brakes > 0 {
			t.Errorf("%s: %d brakes in %d days", c.name, brakes, n)
		}
	}
	t.Logf("evidence of 20/365 on %d of %d days", high, days)
	if float64(high) > 0.05*float64(days)+4*math.Sqrt(0.05*float64(days)) {
		t.Errorf("evidence of 20/365 on %d of %d days", high, days)
	}
}

// TestBrakeOfHarm: when harm ends, by the brake or one by one.
func TestBrakeOfHarm(t *testing.T) {
	for _, c := range []struct {
		name       string
		world      fleetWorld
		harm, rest float64
		share      float64
		latest     float64 // hours by which the brake is pulled; 0: never within a day, since the harmed leave one by one
	}{
		{"all, 12 networks", fleet.with(func(f *fleetWorld) { f.slow = 12 }), 0.5, 1, 1, 0},
		{"all", fleet, 0.5, 1, 1, 0},
		{"all", fleet, 0.7, 1, 1, 0},
		{"30 %", fleet, 0.5, 1, 0.3, 0},
		{"30 %, 200 networks", fleet.with(func(f *fleetWorld) { f.slow = 200 }), 0.5, 1, 0.3, 0},
		{"30 %, others 2 x", fleet, 0.5, 2, 0.3, 0},
		{"24 networks of one site, 15 others", fleet.with(func(f *fleetWorld) { f.slow, f.oneSite = 39, 24.0/39 }), 0.6, 1, 24.0 / 39, 0},
		{"all, all listed", listed, 0.5, 1, 1, 22}, // eight or nine draws of 160 min
	} {
		n, w := replicates(t, 1), c.world
		w.harm, w.rest, w.harmed = c.harm, c.rest, c.share
		var braked []float64
		left, harmed, weight := 0, 0, 0.0
		for seed := range n {
			d := w.run(uint64(seed), 24)
			braked, left, harmed, weight = append(braked, never(d.brake)), left+d.left, harmed+int(math.Ceil(w.harmed*float64(w.slow))), weight+d.weight/float64(n)
		}
		slices.Sort(braked)
		t.Logf("%g x for %-36s brake after %.1f h (%.1f to %.1f), %.0f %% of the harmed treated after 5 h, %.0f %% of their connections", c.harm, c.name,
			braked[n/2], braked[0], braked[n-1], 100*float64(left)/float64(harmed), 100*weight)
		if share := float64(left) / float64(harmed); !w.kept && share > 0.1 {
			t.Errorf("%g x for %s: %.0f %% of the harmed treated after 5 h", c.harm, c.name, 100*share)
		}
		if c.latest == 0 && braked[n/2] < 25 || c.latest > 0 && braked[n/2] > c.latest+0.1 {
			t.Errorf("%g x for %s: brake after %.1f h, want %g at most (0: never)", c.harm, c.name, braked[n/2], c.latest)
		}
	}
}

// TestShownInTime: a gain of 1.5 x, three responses in a window each. Belief treats them in 15 blocks of 16 before it is shown, so there are
// nine control blocks a day to show it: of three networks in five within 28 h (six days), of three in four if the size of the effect were known.
func TestShownInTime(t *testing.T) {
	w := fleet.with(func(f *fleetWorld) { f.rest, f.uneven = 1.5, 0 })
	for seed := range replicates(t, 1) {
		d := w.run(uint64(seed), 28)
		var hours []float64
		for _, h := range d.shown {
			hours = append(hours, h)
		}
		slices.Sort(hours)
		if 2*len(hours) < w.slow {
			t.Fatalf("shown of %d of %d networks", len(hours), w.slow)
		}
		t.Logf("shown of %d of %d networks, after %.1f h in the median", len(hours), w.slow, hours[len(hours)/2])
	}
}

// TestBrakeSwings: harm for half of each day, its inverse in the other. What the bad half said is
// outweighed by the good one: the brake is pulled in a bad half, an hour after it at most, or not at all.
func TestBrakeSwings(t *testing.T) {
	w := fleet.with(func(f *fleetWorld) { f.harmed, f.harm, f.swings = 1, 0.85, true })
	pulled := 0
	for seed := range replicates(t, 2) {
		d := w.run(uint64(seed), 48)
		if d.brake >= 0 {
			pulled++
		}
		if at := math.Mod(d.brake, 24); d.brake >= 0 && at > 13.1 {
			t.Errorf("seed %d: pulled at %.1f h: %s", seed, d.brake, d.why)
		}
	}
	t.Logf("pulled in %d", pulled)
}

func never(hour float64) float64 {
	if hour < 0 {
		return math.Inf(1)
	}
	return hour
}
