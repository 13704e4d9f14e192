package policy

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// beside is an engine of networks that had two blocks, of 100 and 101.
func beside(list ...*track) *Engine {
	e := New(DefaultRules(), firstBlock{})
	for i, t := range list {
		t.prefix, t.was.number, t.now.number = record.Prefix(i), 100, 101
	}
	e.tracks = list
	return e
}

func had(was, now record.Arm, n, before, after float32) *track {
	return &track{plain: plain{was: blockLevel{n: n, mean: before, arm: was}, now: blockLevel{n: n, mean: after, arm: now}}}
}

// TestTurnsByHand: one network is turned on and gains 0.5, two are not and lose 0.25 and gain nothing; the others cannot be compared.
func TestTurnsByHand(t *testing.T) {
	const T, C, none = record.ArmTreatment, record.ArmControl, record.ArmNone
	e := beside(had(C, T, 40, 10, 10.5), had(none, none, 20, 9, 8.75), had(T, T, 10, 9, 9),
		had(none, T, 10, 9, 12), had(none, record.ArmUnknown, 10, 9, 12), had(T, none, 10, 9, 12), had(none, none, 0, 9, 12))
	e.turnOf(102 * 600)
	want := Turns{Until: 102 * 600, Blocks: 1, Squares: 25.0 / 900 * 30 / 530, Won: 30 * 0.5, Left: -20 * 0.25, Moved: 30, Spread: 30 * 530}
	got := e.turns
	if math.Abs(got.Squares-want.Squares) > 1e-12 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got.Squares = want.Squares; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// A sixth is lost, with a precision of 30^2 / 2 s^2 15900; before, none +- 0.4.
	p := 900 / (2 * (want.Squares + 4*0.0025) / 5 * 15900)
	if mean, sd := got.lost(); math.Abs(mean-p/6/(p+6.25)) > 1e-9 || math.Abs(sd-1/math.Sqrt(p+6.25)) > 1e-9 {
		t.Errorf("lost %v +- %v", mean, sd)
	}
	if (Turns{}).Taken() != nil || got.Taken().Share < 0.2 {
		t.Errorf("known before anything was seen, or not at a precision above the prior's: %+v", got.Taken())
	}
	if got.Won = 12; got.Taken() != nil {
		t.Error("known with an error of more than a half of the gain")
	}
	known := Turns{Blocks: 96, Won: 500, Left: -165, Moved: 1000, Spread: 3.25e6}
	const seen = "of what treated networks gain, others here lose 33 % (23 % to 43 %)"
	if got := known.Taken().Text(); got != seen {
		t.Errorf("%q, want %q", got, seen)
	}
	known.Spread = 5e7
	if got := known.Taken().Text(); !strings.HasSuffix(got, ": not shown to be any") {
		t.Error(got)
	}
	if known.Spread = 1e9; known.Taken() != nil {
		t.Error("known at a precision below the prior's")
	}
	if e.turnOf(102 * 600); e.turns.Won != 15 {
		t.Error("a block counts twice")
	}
	off := beside(had(T, C, 30, 10.5, 10), had(none, none, 20, 8.75, 9))
	if off.turnOf(102 * 600); off.turns.Won != 15 || off.turns.Left != -5 {
		t.Errorf("turned off: %+v", off.turns)
	}
	calm := beside(had(none, none, 30, 10, 10.4), had(T, T, 30, 10, 10.4))
	if calm.turnOf(102 * 600); calm.turns.Spread != 0 || math.Abs(calm.turns.Squares-0.16*60/560) > 1e-6 {
		t.Errorf("nothing turned: %+v", calm.turns)
	}
}

// TestShockIsNoLoss: all levels fall by a third when the first two of many networks are turned on. That says little of what these take; and what
// is known is forgotten where nothing is turned any more.
func TestShockIsNoLoss(t *testing.T) {
	list := []*track{had(record.ArmControl, record.ArmTreatment, 30, 10, 10), had(record.ArmControl, record.ArmTreatment, 30, 10, 10)}
	for range 100 {
		list = append(list, had(record.ArmNone, record.ArmNone, 30, 10, 9.6))
	}
	e := beside(list...)
	if e.turnOf(102 * 600); e.turns.taken() > 0.1 {
		t.Errorf("lost %.2f by a shock: %+v", e.turns.taken(), e.turns)
	}
	e.turns = Turns{Blocks: 9, Left: -500, Moved: 1000, Spread: 2e7}
	was := e.turns.taken()
	for block := range int64(3 * 144) {
		for _, t := range e.tracks {
			t.was, t.now = t.now, blockLevel{number: uint32(201 + block), n: 30, mean: 10 + 0.05*float32(block%2)}
		}
		e.turnOf((202 + block) * 600)
	}
	if is := e.turns.taken(); was < 0.4 || is > was/2 {
		t.Errorf("lost %.3f, after three days without a turn %.3f", was, is)
	}
}

// TestTurnsKnowTheTruth: in twelve hours of sixty networks, a third of them treated in the blocks of one draw, others lose none,
// 40 % or all of what those gain, all levels move together besides, and the interval holds that in nine of ten days.
func TestTurnsKnowTheTruth(t *testing.T) {
	for _, robbed := range []float64{0, 0.4, 1} {
		for _, shock := range []float64{0, 0.1} {
			covered, sum, width := 0, 0.0, 0.0
			const days = 200
			for seed := range uint64(days) {
				mean, sd := turnsOf(rand.New(rand.NewPCG(seed, uint64(100*robbed))), 72, robbed, shock)
				sum, width = sum+mean/days, width+sd/days
				if math.Abs(mean-robbed*turnedGain) < 1.96*sd {
					covered++
				}
			}
			t.Logf("robbed %.1f, shocks of %.1f: %.2f +- %.2f, covered in %d of %d", robbed, shock, sum, width, covered, days)
			if covered < days*9/10 {
				t.Errorf("robbed %.1f, shocks of %.1f: covered in %d of %d days", robbed, shock, covered, days)
			}
		}
	}
}

const turnedGain = 0.5

// turnsOf plays blocks of sixty networks with 15 connections each.
func turnsOf(r *rand.Rand, blocks int, robbed, shock float64) (mean, sd float64) {
	const networks, treated, n = 60, 20, 15
	e := New(DefaultRules(), firstBlock{})
	for i := range networks {
		e.tracks = append(e.tracks, &track{plain: plain{prefix: record.Prefix(i)}})
	}
	for b := range blocks {
		on, all := r.IntN(2) == 1, shock*r.NormFloat64()
		for i, t := range e.tracks {
			level := all + 0.2*r.NormFloat64() + 0.66/math.Sqrt(n)*r.NormFloat64()
			arm := record.ArmNone
			switch {
			case i < treated && on:
				arm, level = record.ArmTreatment, level+turnedGain
			case i < treated:
				arm = record.ArmControl
			case on:
				level -= robbed * turnedGain * treated / (networks - treated)
			}
			t.was, t.now = t.now, blockLevel{number: uint32(1000 + b), n: n, mean: float32(level), arm: arm}
		}
		e.turnOf(int64(1000+b+1) * e.rules.Trial.BlockSeconds)
	}
	return e.turns.lost()
}

// TestStoppedTurnsNothing: with the kill switch on, rows have arms and nobody is treated, so no block says what a turn does.
func TestStoppedTurnsNothing(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		e := New(DefaultRules(), firstBlock{})
		row := quiet(noon, letter(t, "a"), 30, 100_000)
		row.Arm = record.ArmTreatment
		e.Round(Input{Start: row.Start, RoundStart: row.Start + 300, Rows: []record.Window{row}, Stopped: stopped})
		if got := e.tracks[0].now.n > 0; got == stopped {
			t.Errorf("stopped %t: noted %t", stopped, got)
		}
	}
}

// TestNoteBlock: rows of one arm are one level; a block with rows of two arms has none.
func TestNoteBlock(t *testing.T) {
	row := func(arm record.Arm, n uint32, mean float64) *record.Window {
		return &record.Window{Arm: arm, Eligible: n, LogRateMean: mean}
	}
	tr := &track{}
	washed := row(record.ArmTreatment, 9, 1)
	washed.Washout = true
	tr.noteBlock([]*record.Window{row(record.ArmControl, 1, 10), washed}, 7)
	tr.noteBlock([]*record.Window{row(record.ArmControl, 3, 12)}, 7)
	if want := (blockLevel{7, 4, 11.5, record.ArmControl}); tr.now != want {
		t.Errorf("%+v, want %+v", tr.now, want)
	}
	if tr.noteBlock([]*record.Window{row(record.ArmUnknown, 3, 12)}, 7); tr.now.arm != record.ArmControl || tr.now.n != 4 {
		t.Errorf("a connection that chose its own: %+v", tr.now)
	}
	tr.noteBlock([]*record.Window{row(record.ArmNone, 3, 12), row(record.ArmTreatment, 3, 12)}, 8)
	tr.noteBlock([]*record.Window{row(record.ArmTreatment, 3, 12)}, 8)
	if tr.now.arm != record.ArmUnknown || tr.was.number != 7 {
		t.Errorf("two arms: %+v after %+v", tr.now, tr.was)
	}
}
