package policy

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

func drawTriedCity(rt *rapid.T) (c triedCity, windows int) {
	return triedCity{city: city{seed: rapid.Uint64Range(0, 1<<40).Draw(rt, "seed"), prefixes: rapid.IntRange(6, 40).Draw(rt, "prefixes")}},
		rapid.IntRange(30, 150).Draw(rt, "windows")
}

// anyTriedRules have a pacing cap or not.
func anyTriedRules(rt *rapid.T) Rules {
	r := triedRules()
	r.Cap, r.Treatment = rapid.Bool().Draw(rt, "cap"), "bbr"
	return r
}

// TestTriedReplay: an engine that is fed the past with what was stored of it, through
// JSON, is in the state of the one that decided, evidence included, and goes on like it.
func TestTriedReplay(t *testing.T) {
	caps, lifts := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		c, windows := drawTriedCity(rt)
		rules := anyTriedRules(rt)
		c.paced = rules.Cap
		rules.Always, rules.Uncontrolled = c.always(c.prefixes/2), c.seed%3 == 0
		again, named := New(rules, cityDraws()), rapid.Bool().Draw(rt, "named")
		other := operators(rapid.IntRange(0, 3).Draw(rt, "other names"))
		restart := rapid.IntRange(0, windows-1).Draw(rt, "restart")
		name := func(_ int, e *Engine) *Engine {
			if named {
				e.Name(operators(3))
			}
			return e
		}
		c.runWith(rules, name, windows, func(w int, e *Engine, in Input, d Decision) {
			if w > restart {
				again.Name(e.networks) // no window may have come before
				if got := again.Round(in); !reflect.DeepEqual(got, d) {
					rt.Fatalf("window %d, restart after %d:\n%s", w, restart, cmp.Diff(d, got))
				}
				return
			}
			past := in
			past.Stopped = false // the caller cannot know: the memory tells
			again.Name(other)    // a replay needs no names, or not the same
			again.Replay(past, stored(rt, d.Memory()))
			again.Name(e.networks)
			if w%7 != 0 && w != restart {
				return
			}
			for _, t := range e.tracks {
				x, _ := e.Explain(t.prefix)
				if c := x.PacingCap; c != nil && c.Cap > 0 {
					caps++
				} else if c != nil && c.Lifted > 0 {
					lifts++
				}
				y, ok := again.Explain(t.prefix)
				if !ok || !reflect.DeepEqual(x, y) {
					rt.Fatalf("window %d, restart after %d:\n%s", w, restart, cmp.Diff(x, y))
				}
			}
		})
	})
	t.Logf("%d caps, %d lifted", caps, lifts)
	if !testing.Short() && (caps == 0 || lifts == 0) { // of all draws: a short run's few may have none
		t.Error("no cap, or none that was lifted")
	}
}

// operators name prefixes by some of their last bits; 0 names none.
type operators int

func (o operators) Of(p record.Prefix) string {
	if o == 0 {
		return ""
	}
	return []string{"cable", "mobile", ""}[uint64(p>>8)%uint64(o)]
}

// stored is a memory after its way through the store.
func stored(rt *rapid.T, m Memory) (out Memory) {
	b, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		rt.Fatal(err)
	}
	return out
}

// TestTriedOrderOfInput: the same rows in another order give the same decision, with
// all its evidence.
func TestTriedOrderOfInput(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, windows := drawTriedCity(rt)
		rules := anyTriedRules(rt)
		c.paced = rules.Cap
		other := New(rules, cityDraws())
		c.run(rules, windows, func(w int, e *Engine, in Input, d Decision) {
			in.Rows = slices.Clone(in.Rows)
			rand.New(rand.NewPCG(c.seed, uint64(w))).Shuffle(len(in.Rows), func(i, j int) { in.Rows[i], in.Rows[j] = in.Rows[j], in.Rows[i] })
			if got := other.Round(in); !reflect.DeepEqual(got, d) {
				rt.Fatalf("window %d:\n%s", w, cmp.Diff(d, got))
			}
		})
	})
}

// TestBlockOfTwoStates: a block in which the prefix changed its state has two draws
// and counts nowhere.
func TestBlockOfTwoStates(t *testing.T) {
	p := letter(t, "a")
	l := &trial{}
	one := effect.Block{N: 5, MeanLog: 1}
	l.add(block{one, 7, 2, record.ArmTreatment})
	l.add(block{one, 8, 2, record.ArmControl})
	l.add(block{one, 8, 4, record.ArmControl})
	l.add(block{one, 9, 4, record.ArmTreatment})
	l.add(block{one, 9, 4, record.ArmTreatment})
	e := New(triedRules(), cityDraws())
	tr := &track{plain: plain{prefix: p}, trial: l, chosen: &Selected{Prefix: p, State: StatePromoted}}
	if pairs := e.pairs(tr, 12*600); len(pairs) != 0 || len(l.blocks) != 3 || l.blocks[2].N != 10 {
		t.Errorf("pairs %+v of blocks %+v", pairs, l.blocks)
	}
	l.add(block{one, 10, 4, record.ArmControl})
	pairs := e.pairs(tr, 12*600)
	if len(pairs) != 1 || len(pairs[0].T) != 1 || pairs[0].Treated().N != 10 || pairs[0].C.N != 5 || pairs[0].Share() != 0.5 || pairs[0].Group != 2 || pairs[0].End != 12*600 {
		t.Errorf("pairs %+v, want blocks 9 and 10 as one", pairs)
	}
	if got := tr.treatedRate(); got != 3 { // e, of block 9
		t.Errorf("treated %v", got)
	}
	tr.chosen.Role = record.ArmAA
	if got := tr.treatedRate(); got != 0 {
		t.Errorf("A/A, treated %v", got)
	}
}

// TestMemoryForms: a list alone is read as it was stored before cool-downs.
func TestMemoryForms(t *testing.T) {
	p := letter(t, "a")
	for _, c := range []struct {
		m    Memory
		text string
	}{
		{Memory{Selected: []Selected{}}, `[]`},
		{Memory{Selected: []Selected{{Prefix: p, Since: 300, Reason: "r", Duty: 1}}},
			`[{"prefix":"198.18.1.0/24","since":300,"reason":"r","duty":1,"flap":0,"performance_bytes_per_s":0}]`},
		{Memory{Selected: []Selected{}, Cooling: []Cooling{{Prefix: p, Until: 900, Row: 2}}}, `{"selected":[],"cooling":[{"prefix":"198.18.1.0/24","until":900,"row":2}]}`},
		{Memory{Selected: []Selected{}, Stopped: true}, `{"selected":[],"cooling":null,"stopped":true}`},
	} {
		b, err := json.Marshal(c.m)
		if err != nil || string(b) != c.text {
			t.Errorf("%s, want %s: %v", b, c.text, err)
		}
		var back Memory
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, c.m) {
			t.Errorf("%+v, want %+v: %v", back, c.m, err)
		}
	}
	var m Memory
	if err := json.Unmarshal([]byte(`["198.18.1.0/24"]`), &m); err == nil {
		t.Error("a list of texts was read")
	}
}

// TestAnotherSelection: what the level selected leaves when belief decides, and is on trial as long as the plan is held; the plan
// loses its states, and no network, when the level decides again; a prefix named for the hold-out is not treated from the next block
// on; and what an earlier version had settled is promoted.
func TestAnotherSelection(t *testing.T) {
	p := letter(t, "a")
	plain := Memory{Selected: []Selected{{Prefix: p, Since: noon, Reason: "r"}}}
	in := Input{Start: noon + 600, RoundStart: noon + 900}
	on := New(triedRules(), firstBlock{})
	on.Replay(in, plain)
	x, _ := on.Explain(p)
	if s := x.Chosen; x.State != StateTrial || s.State != StateTrial || s.Since != noon+900 || s.From != noon+1200 {
		t.Errorf("turned on: %s, %+v", x.State, s)
	}
	if d := on.Round(Input{Start: noon + 900, RoundStart: noon + 1200}); d.Released != 1 || d.Events[0].Reason != benefitReason {
		t.Errorf("turned on: %+v", d)
	}
	settledOnce := New(triedRules(), firstBlock{})
	settledOnce.Replay(in, Memory{Selected: []Selected{{Prefix: p, Since: noon, State: "settled", Class: ClassSingle, From: noon, Group: 24}}})
	if x, _ := settledOnce.Explain(p); x.State != StatePromoted || x.Chosen.Since != noon {
		t.Errorf("settled once: %s, %+v", x.State, x.Chosen)
	}
	promoted := Memory{Selected: []Selected{{Prefix: p, Since: noon, State: StatePromoted, From: noon, Retired: 1}}, Cooling: []Cooling{{Prefix: letter(t, "b"), Until: noon + 9000, Row: 1}}}
	off := byLevel(cityRules())
	promoted.Selected = append(promoted.Selected, Selected{Prefix: letter(t, "c"), Since: noon, State: StateTrial, Role: record.ArmHoldout, From: noon})
	off.Replay(in, promoted)
	if d := off.Round(Input{Start: noon + 900, RoundStart: noon + 1200}); len(d.Cooling) != 0 || d.Selection[0] != (Selected{Prefix: p, Since: noon}) {
		t.Errorf("turned off: %+v, cooling %+v", d.Selection, d.Cooling)
	}
	// What belief had chosen leaves by its level one a round, but for what the operator forbids.
	rules, many := cityRules(), Memory{}
	rules.MaxNewPerRound, rules.Guards.Never = 1, []Listed{{Net: letter(t, "f").Netip()}}
	for _, name := range []string{"d", "e", "f", "g"} {
		many.Selected = append(many.Selected, Selected{Prefix: letter(t, name), Since: noon, State: StatePromoted, Class: ClassSingle, From: noon})
	}
	slow := byLevel(rules)
	for w := range int64(12) {
		start := noon - 3600 + 300*w
		var rows []record.Window
		for i := range 10 {
			rows = append(rows, quiet(start, letter(t, string(rune('d'+i))), 6, 1e6-1e4*float64(i)))
		}
		slow.Replay(Input{Start: start, RoundStart: start + 300, Rows: rows}, many)
	}
	if d := slow.Round(Input{Start: noon, RoundStart: noon + 300}); d.Released != 2 || d.Events[0].Prefix != letter(t, "d") || d.Events[1].Prefix != letter(t, "f") || d.Events[1].Guard != GuardNever {
		t.Errorf("%+v", d.Events)
	}
	r := triedRules()
	r.HoldoutPrefixes = append(r.HoldoutPrefixes, p.Netip())
	named := New(r, firstBlock{})
	named.Replay(in, promoted)
	if x, _ := named.Explain(p); x.State != StateHoldout || x.Chosen.From != noon+1200 {
		t.Errorf("named: %s, %+v", x.State, x.Chosen)
	}
}
