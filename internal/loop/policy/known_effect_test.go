package policy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/congctl/congctl/internal/core/record"
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

// run gives the hours after which each prefix was first told of each kind, and how
// many events of each kind there were.
func (c slowStreet) run(hours int, draws Draws) (first map[EventKind]map[record.Prefix]float64, all map[EventKind]int) {
	r := DefaultRules()
	e := NewExperiment(r, draws)
	first, all = map[EventKind]map[record.Prefix]float64{}, map[EventKind]int{}
	var inPlan []Selected
	for w := range int64(hours) * 12 {
		start := noon + 300*w
		d := e.Round(Input{Start: start, RoundStart: start + 300, Rows: c.rows(start, inPlan, r.Trial, draws)})
		inPlan = d.Selection
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

// drawn draws arms as core/plan does, and nobody for a role.
type drawn struct{ Draws }

func (drawn) Role(record.Prefix) record.Arm { return record.ArmNone }

// TestNoEffect: with a treatment that does nothing, and so for A/A prefixes, nobody
// is promoted or braked for, and at most one trial in twenty ends in a demotion.
func TestNoEffect(t *testing.T) {
	total := map[EventKind]int{}
	for seed := range uint64(5) {
		_, all := slowStreet{seed, func(int) treated { return treated{} }}.run(48, cityDraws())
		for kind, n := range all {
			total[kind] += n
		}
	}
	t.Log(total)
	if total[EventPromoted] > 0 || total[EventBrake] > 0 || 20*total[EventDemoted] > total[EventSelected] || total[EventRetired] < 80 {
		t.Errorf("where nothing was done: %v", total)
	}
}

// TestKnownEffects: 3 x is promoted and 0.4 x is demoted within 6 h of selection (at
// 1 h), 30 connections a block; nothing is retired in between but what has no effect.
func TestKnownEffects(t *testing.T) {
	effects := [...]float64{3, 0.4, 1}
	for seed := range uint64(3) {
		told, _ := slowStreet{seed, func(i int) treated { return treated{effect: effects[i%3]} }}.run(10, drawn{cityDraws()})
		for i := range streetSlow {
			p := city{}.prefix(i)
			kind := [...]EventKind{EventPromoted, EventDemoted, EventRetired}[i%3]
			for _, k := range []EventKind{EventPromoted, EventDemoted, EventRetired} {
				at, yes := told[k][p]
				if yes != (k == kind) || yes && at > 7.1 {
					t.Errorf("seed %d: x %g was %s: %t, after %.1f h", seed, effects[i%3], k, yes, at)
				}
			}
		}
	}
}
