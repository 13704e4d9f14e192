package policy

import (
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

func drawCity(rt *rapid.T) (c city, windows int) {
	return city{seed: rapid.Uint64Range(0, 1<<40).Draw(rt, "seed"), prefixes: rapid.IntRange(6, 40).Draw(rt, "prefixes")},
		rapid.IntRange(20, 120).Draw(rt, "windows")
}

// run plays a city in a closed loop and calls each after every round.
func (c city) run(r Rules, windows int, troubled bool, each func(w int, e *Engine, in Input, d Decision)) {
	e := byLevel(r)
	var plan []Selected
	for w := range windows {
		if troubled && c.skips(w) {
			continue
		}
		in := c.input(w, troubled, plan)
		d := e.Round(in)
		each(w, e, in, d)
		plan = d.Selection
	}
}

// TestOrderOfInput: the same rows in another order give the same decision, with
// all its evidence.
func TestOrderOfInput(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, windows := drawCity(rt)
		other := byLevel(cityRules())
		c.run(cityRules(), windows, true, func(w int, e *Engine, in Input, d Decision) {
			in.Rows = slices.Clone(in.Rows)
			rand.New(rand.NewPCG(c.seed, uint64(w))).Shuffle(len(in.Rows), func(i, j int) { in.Rows[i], in.Rows[j] = in.Rows[j], in.Rows[i] })
			before := slices.Clone(in.Rows)
			if got := other.Round(in); !reflect.DeepEqual(got, d) {
				rt.Fatalf("window %d:\n%s", w, cmp.Diff(d, got))
			}
			if !slices.Equal(in.Rows, before) {
				rt.Fatal("the caller's rows were changed")
			}
		})
	})
}

// TestSelectedOrExcluded: no prefix is both, new ones pass every guard, denied ones
// are never in, and ramp, cap and table agree with the plan.
func TestSelectedOrExcluded(t *testing.T) {
	excluded := 0
	rapid.Check(t, func(rt *rapid.T) {
		c, windows := drawCity(rt)
		r := cityRules()
		c.run(r, windows, true, func(w int, e *Engine, in Input, d Decision) {
			if d.New > r.MaxNewPerRound || d.Selected > r.MaxSelected || len(d.Selection) != d.Selected {
				rt.Fatalf("window %d: %d new, %d selected, %d in the selection", w, d.New, d.Selected, len(d.Selection))
			}
			plan := map[record.Prefix]Selected{}
			for _, s := range d.Selection {
				plan[s.Prefix] = s
			}
			for _, row := range e.Rows() {
				s, in := plan[row.Prefix]
				switch {
				case in != (row.State == StateSelected):
					rt.Fatalf("window %d: %s is %s, in the plan: %t", w, row.Prefix, row.State, in)
				case (row.State == StateExcluded) != (!in && row.Guard != ""):
					rt.Fatalf("window %d: %s is %s with guards %q", w, row.Prefix, row.State, row.Guard)
				case in && s.Since == d.RoundStart && (row.Guard != "" || row.Known < r.MinKnown || row.Duty < r.SelectDuty || row.Flap > r.SelectFlap):
					rt.Fatalf("window %d: selected %+v", w, row)
				case in && row.Prefix == c.prefix(14):
					rt.Fatalf("window %d: %s is denied and selected", w, row.Prefix)
				}
				if row.State == StateExcluded {
					excluded++
				}
			}
		})
	})
	if excluded == 0 {
		t.Error("none was ever excluded")
	}
}

// TestStableHistoryStablePlan: once levels stop moving and the ramp is through,
// the plan does not move either, to the last word, and holds all of the slowest that no
// guard keeps out, as far as there is room. (Of few, all may be on the deny list.)
func TestStableHistoryStablePlan(t *testing.T) {
	selected := 0
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(5, 60).Draw(rt, "prefixes")
		rates := rapid.SliceOfN(rapid.Float64Range(1e4, 1e7), n, n).Draw(rt, "rates")
		r := cityRules()
		e := byLevel(r)
		var plan []Selected
		for w := range 60 {
			start := int64(noon + 300*w)
			in := Input{Start: start, RoundStart: start + 300}
			for i := range n {
				in.Rows = append(in.Rows, quiet(start, city{}.prefix(i), 7, rates[i]))
			}
			d := e.Round(in)
			if w > r.HistoryWindows+r.MaxSelected && (!reflect.DeepEqual(d.Selection, plan) || len(d.Events) > 0) {
				rt.Fatalf("window %d: the plan changed:\n%s\nevents %+v", w, cmp.Diff(plan, d.Selection), d.Events)
			}
			plan = d.Selection
		}
		free := 0
		for _, row := range e.Rows() {
			if row.InGroup && row.Guard == "" {
				free++
			}
		}
		if len(plan) != min(free, r.MaxSelected) {
			rt.Fatalf("%d selected, of %d slow ones that no guard keeps out", len(plan), free)
		}
		selected += len(plan)
	})
	if selected == 0 {
		t.Error("none is selected")
	}
}

// TestTreatedRowsSayNothing: whatever rates, round-trip times and losses the
// connections show that measure no level, every decision stays the same.
func TestTreatedRowsSayNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, windows := drawCity(rt)
		other := byLevel(cityRules())
		c.run(cityRules(), windows, true, func(w int, e *Engine, in Input, d Decision) {
			rng := rand.New(rand.NewPCG(c.seed, uint64(w)))
			in.Rows = slices.Clone(in.Rows)
			for i := range in.Rows {
				if r := &in.Rows[i]; !r.Control {
					f := rng.ExpFloat64()
					for q := range r.RateBytesPerS {
						r.RateBytesPerS[q] *= f
					}
					r.MinRTTUs, r.SRTTUs, r.RetransShare, r.RwndShare, r.BusyShare = rng.Float64()*1e5, rng.Float64()*1e5, rng.Float64(), rng.Float64(), rng.Float64()
				}
			}
			if got := other.Round(in); !reflect.DeepEqual(got, d) {
				rt.Fatalf("window %d:\n%s", w, cmp.Diff(d, got))
			}
		})
	})
}

// TestTreatingOneChangesNoOther: a prefix whose path does not change is treated
// in one run and on the deny list in the other; the selection of all others is the
// same in every round. (Ramp and cap are shared by definition: here they do not bind.)
func TestTreatingOneChangesNoOther(t *testing.T) {
	treatedRounds := 0
	enoughRounds(t, &treatedRounds, func(rt *rapid.T) {
		c, windows := drawCity(rt)
		p := c.prefix(c.prefixes) // one more than the city has
		rate := 1000 * float64(rapid.IntRange(5, 400).Draw(rt, "kB/s"))
		free := cityRules()
		free.MaxNewPerRound, free.MaxSelected = 100, 100
		// It needs a known performance no older than MaxAgeSeconds: longer than a group of blocks.
		free.MaxAgeSeconds = 60 * 300
		free.Guards.MaxConnShare = 1
		denied := free
		denied.Guards.Never = append(slices.Clone(free.Guards.Never), Listed{Net: p.Netip()})

		a, b := byLevel(free), byLevel(denied)
		var planA, planB []Selected
		for w := range windows {
			inA, inB := c.input(w, true, planA), c.input(w, true, planB)
			steady := city{seed: c.seed, prefixes: 0}
			inA.Rows = append(inA.Rows, steady.steady(p, w, inA.Start, rate, holds(planA, p)))
			inB.Rows = append(inB.Rows, steady.steady(p, w, inB.Start, rate, false))
			planA, planB = a.Round(inA).Selection, b.Round(inB).Selection
			if holds(planA, p) {
				treatedRounds++
			}
			if got, want := without(planA, p), without(planB, p); !reflect.DeepEqual(got, want) {
				rt.Fatalf("window %d:\n%s", w, cmp.Diff(want, got))
			}
		}
	})
}

// enoughRounds repeats draws until so many rounds were seen that show something: a short run has a fifth of the draws,
// and about half of all know too little of the prefix to choose it.
func enoughRounds(t *testing.T, seen *int, property func(*rapid.T)) {
	t.Helper()
	for range 10 {
		if rapid.Check(t, property); *seen >= 100 {
			return
		}
	}
	t.Errorf("treated in %d rounds only", *seen)
}

// steady is a row of a prefix whose level never changes, ten times as fast where
// it is treated.
func (c city) steady(p record.Prefix, w int, start int64, rate float64, treated bool) record.Window {
	rng := rand.New(rand.NewPCG(c.seed, 1<<52|uint64(w)))
	r := quiet(start, p, uint32(5+rng.IntN(5)), rate)
	switch {
	case !treated:
	case w/cityBlock%cityGroup != 3:
		r.Arm, r.Control, r.Cong = record.ArmTreatment, false, "bbr"
		r.RateBytesPerS[record.Q50] *= 10
	default:
		r.Arm = record.ArmControl
	}
	return r
}

func holds(plan []Selected, p record.Prefix) bool {
	return slices.ContainsFunc(plan, func(s Selected) bool { return s.Prefix == p })
}

func without(plan []Selected, p record.Prefix) []Selected {
	return slices.DeleteFunc(slices.Clone(plan), func(s Selected) bool { return s.Prefix == p })
}

// TestReplay: an engine that is fed the past with its stored selections is in
// the state of the one that decided, and goes on like it.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, windows := drawCity(rt)
		again := byLevel(cityRules())
		restart := rapid.IntRange(0, windows-1).Draw(rt, "restart")
		c.run(cityRules(), windows, true, func(w int, e *Engine, in Input, d Decision) {
			if w > restart {
				if got := again.Round(in); !reflect.DeepEqual(got, d) {
					rt.Fatalf("window %d, restart after %d:\n%s", w, restart, cmp.Diff(d, got))
				}
			} else {
				again.Replay(in, d.Memory())
			}
			if w%10 != 0 && w != restart {
				return
			}
			if !reflect.DeepEqual(again.Rows(), e.Rows()) {
				rt.Fatalf("window %d, restart after %d: rows\n%s", w, restart, cmp.Diff(e.Rows(), again.Rows()))
			}
			for _, t := range e.tracks {
				x, _ := e.Explain(t.prefix)
				y, ok := again.Explain(t.prefix)
				if !ok || !reflect.DeepEqual(x, y) {
					rt.Fatalf("window %d, restart after %d:\n%s", w, restart, cmp.Diff(x, y))
				}
			}
		})
	})
}

// TestReplayImposes: what was stored wins over what the engine would decide.
func TestReplayImposes(t *testing.T) {
	e := byLevel(cityRules())
	p, _ := record.PrefixOf(netip.MustParseAddr("203.0.113.9"))
	stored := Selected{Prefix: p, Since: noon, Reason: "by hand", Duty: 1}
	e.Replay(Input{Start: noon, RoundStart: noon + 300}, Memory{Selected: []Selected{stored}})
	d := e.Round(Input{Start: noon + 300, RoundStart: noon + 600})
	if len(d.Selection) != 1 || d.Selection[0] != stored {
		t.Errorf("selection %+v, want the stored one", d.Selection)
	}
	e.Replay(Input{Start: noon + 600, RoundStart: noon + 900}, Memory{})
	if d := e.Round(Input{Start: noon + 900, RoundStart: noon + 1200}); d.Selected != 0 || d.Released != 0 {
		t.Errorf("selected %d, released %d after an empty selection was imposed", d.Selected, d.Released)
	}
}
