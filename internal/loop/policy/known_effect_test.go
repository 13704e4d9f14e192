package policy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// slowStreet makes windows of 60 prefixes with known truth: 12 are slow, their blocks
// and connections vary as the default noise says, and treatment multiplies the rates of
// prefix i by under(i).
type slowStreet struct {
	seed  uint64
	under func(i int) treated
}

const (
	streetPrefixes, streetSlow = 60, 12
	streetConns                = 6 // eligible connections a window
)

func (c slowStreet) rows(start int64, inPlan []Selected, r Trial, draws Draws) (rows []record.Window) {
	for i := range streetPrefixes {
		drift := rand.New(rand.NewPCG(c.seed, uint64(start/r.BlockSeconds)<<16|uint64(i))).NormFloat64() * 0.2
		rng := rand.New(rand.NewPCG(c.seed, 1<<40|uint64(start)<<8|uint64(i)))
		level := 1e6
		if i < streetSlow {
			level = 1e5
		}
		row := quiet(start, city{}.prefix(i), streetConns, level*math.Exp(drift))
		if i < streetSlow { // losses one by one
			row.MinRTTUs, row.SRTTUs, row.EligibleRetransBytes = 60_000, 62_000, row.EligibleSentBytes/50
		}
		sample(&row, rng, math.Log(level)+drift)
		rows = append(rows, planned(row, inPlan, r, draws, c.under(i)))
	}
	return rows
}

// sample draws the connections' ln rates around a level.
func sample(w *record.Window, rng *rand.Rand, level float64) {
	var sum, squares float64
	for range w.Eligible {
		v := level + 0.66*rng.NormFloat64()
		sum, squares = sum+v, squares+v*v
	}
	n := float64(w.Eligible)
	w.LogRateMean = sum / n
	w.LogRateVar = max(0, squares/n-w.LogRateMean*w.LogRateMean)
}

// promotedWindows is no event: it counts them, of all networks.
const promotedWindows EventKind = "promoted windows"

// run returns the hours after which each prefix was first told of each kind, and how
// many events of each kind there were.
func (c slowStreet) run(hours int, draws Draws) (first map[EventKind]map[record.Prefix]float64, all map[EventKind]int) {
	r := DefaultRules()
	e := New(r, draws)
	first, all = map[EventKind]map[record.Prefix]float64{}, map[EventKind]int{}
	var inPlan []Selected
	for w := range int64(hours) * 12 {
		start := noon + 300*w
		d := e.Round(Input{Start: start, RoundStart: start + 300, Rows: c.rows(start, inPlan, r.Trial, draws)})
		inPlan = d.Selection
		for _, s := range d.Selection {
			if s.State == StatePromoted {
				all[promotedWindows]++
			}
		}
		for _, ev := range d.Events {
			all[ev.Kind]++
			if first[ev.Kind] == nil {
				first[ev.Kind] = map[record.Prefix]float64{}
			}
			if _, again := first[ev.Kind][ev.Prefix]; !again {
				first[ev.Kind][ev.Prefix] = float64(w+1) / 12
			}
		}
	}
	return first, all
}

// drawn draws arms as loop/plan does, and no prefix for a role.
type drawn struct{ Draws }

func (drawn) Role(record.Prefix) record.Arm { return record.ArmNone }

// TestNoEffect: with a treatment that does nothing, of which the lab says that it doubles the rate of such networks, none is braked for,
// at most one trial in twenty ends in a demotion, and the slow networks are promoted in at most 5 % of their time.
func TestNoEffect(t *testing.T) {
	const seeds, hours = 5, 48
	total := map[EventKind]int{}
	for seed := range uint64(seeds) {
		_, all := slowStreet{seed, func(int) treated { return treated{} }}.run(hours, cityDraws())
		for kind, n := range all {
			total[kind] += n
		}
	}
	t.Log(total)
	if float64(total[promotedWindows]) > 0.05*seeds*hours*12*streetSlow || total[EventBrake] > 0 || 20*total[EventDemoted] > total[EventSelected] || total[EventRetired] < 50 {
		t.Errorf("where nothing was done: %v", total)
	}
}

// TestKnownEffects: where two of three networks gain 3 x, those are promoted within six hours and stay; one at 0.4 x leaves within six
// hours, and one without an effect within a day.
func TestKnownEffects(t *testing.T) {
	effects := [...]float64{3, 3, 0.4, 3, 3, 1}
	for seed := range uint64(3) {
		told, _ := slowStreet{seed, func(i int) treated { return treated{effect: effects[i%6]} }}.run(26, drawn{cityDraws()})
		for i := range streetSlow {
			p, effect := city{}.prefix(i), effects[i%6]
			promoted, helped := told[EventPromoted][p]
			left, gone := told[EventRetired][p]
			if at, demoted := told[EventDemoted][p]; demoted {
				left, gone = at, true
			}
			t.Logf("seed %d: x %g: promoted %t after %.1f h, left %t after %.1f h", seed, effect, helped, promoted, gone, left)
			if effect == 3 && (!helped || promoted > 6 || gone) || effect < 3 && !gone || effect == 0.4 && left > 6 {
				t.Errorf("seed %d: x %g: promoted %t after %.1f h, left %t after %.1f h", seed, effect, helped, promoted, gone, left)
			}
		}
	}
}

// TestLoadMovesWithLevel: nothing happens to networks in the state of the promoted, but they have
// more connections in the blocks in which they are slow. What the engine says of them, and of
// all together, is still 1.
func TestLoadMovesWithLevel(t *testing.T) {
	const networks, drift = 60, 0.6
	r, draws := DefaultRules(), drawn{cityDraws()}
	r.MaxNewPerRound = networks
	for i := range networks {
		r.Always = append(r.Always, Listed{Net: city{}.prefix(i).Netip(), Reason: "known"})
	}
	var sum, squares, n, fleet float64
	const seeds = 5
	for seed := range uint64(seeds) {
		e := New(r, draws)
		var inPlan []Selected
		for start := int64(noon); start < noon+28*3600; start += r.WindowSeconds {
			var rows []record.Window
			for i := range networks {
				moved := drift * rand.New(rand.NewPCG(seed, uint64(start/r.Trial.BlockSeconds)<<16|uint64(i))).NormFloat64()
				row := quiet(start, city{}.prefix(i), uint32(max(1, math.Round(6*math.Exp(-moved)))), 1e5*math.Exp(moved))
				sample(&row, rand.New(rand.NewPCG(seed, 1<<40|uint64(start)<<8|uint64(i))), math.Log(1e5)+moved)
				rows = append(rows, planned(row, inPlan, r.Trial, draws, treated{}))
			}
			inPlan = e.Round(Input{Start: start, RoundStart: start + r.WindowSeconds, Rows: rows}).Selection
		}
		var all []effect.Pair
		for _, x := range e.tracks {
			d := x.trial.evidence.LogRatio
			sum, squares, n = sum+d, squares+d*d, n+1
			all = append(all, x.trial.pairs...)
		}
		fleet += effect.WholeFleet(all).LogRatio / seeds
	}
	mean := sum / n
	se := math.Sqrt((squares/n - mean*mean) / n)
	t.Logf("evidence x %.3f (+- %.3f), over all x %.3f", math.Exp(mean), se, math.Exp(fleet))
	// Both rest on the same pairs; 3.3 standard errors are one in 1,000.
	if n != networks*seeds || math.Abs(mean) > 3.3*se || math.Abs(fleet) > 3.3*se {
		t.Errorf("%v networks, want x 1 +- %.3f", n, 3.3*se)
	}
}
