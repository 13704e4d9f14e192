package controller

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// tried is window under a plan (nil: none): the slow prefixes lose packets one by one, rows carry the plan's arms, and treatment
// multiplies the rate of slow prefix i by effect[i].
func tried(p *plan.Plan, now int64, effect [5]float64) agent.ClosedWindow {
	o := window(now)
	for i := range o.Rows {
		w := &o.Rows[i]
		w.LogRateMean, w.LogRateVar = math.Log(w.RateBytesPerS[record.Q50]), 0.4
		if w.EligibleSentBytes, w.EligibleRetransBytes = 10_000_000, 100_000; i < len(effect) {
			w.MinRTTUs, w.SRTTUs, w.EligibleRetransBytes = 60_000, 62_000, 200_000
		}
		if p == nil {
			continue
		}
		arm, in := p.ArmAt(w.Prefix, now)
		if !in {
			continue
		}
		w.Arm, w.Washout = arm, (arm == record.ArmTreatment || arm == record.ArmControl) && now%p.BlockSeconds < p.WashoutSeconds
		w.Control = arm != record.ArmTreatment && !w.Washout
		if arm == record.ArmTreatment {
			w.Cong = "bbr"
			if i < len(effect) { // a fast one may be tried while the slow ones cool down
				w.LogRateMean += math.Log(effect[i])
			}
		}
	}
	return o
}

func (b *bench) try(n int, effect [5]float64) {
	b.t.Helper()
	for range n {
		o := tried(b.plan, b.now, effect)
		o.Untreated = b.untreated
		b.now += 300
		if err := b.Round(b.t.Context(), o); err != nil {
			b.t.Fatal(err)
		}
	}
}

func states(p *plan.Plan) map[string]int {
	m := map[string]int{}
	for _, e := range p.Entries {
		m[e.State]++
	}
	return m
}

func (b *bench) told(kind policy.EventKind) (n int) {
	for _, e := range b.s.events {
		if e.Kind == string(kind) {
			n++
		}
	}
	return n
}

// noon of a day, so that blocks and groups begin with the first window.
const noon = int64(1_795_176_000)

func TestPlanFollowsTheTrial(t *testing.T) {
	r := policy.DefaultRules()
	r.Trial.BlockSeconds = 1800 // six windows, which the counts of windows below are multiples of
	hold, _ := record.PrefixOf(netip.MustParseAddr("198.18.3.1"))
	aa, _ := record.PrefixOf(netip.MustParseAddr("198.18.4.1"))
	r.HoldoutPrefixes, r.AAPrefixes = []netip.Prefix{hold.Netip()}, []netip.Prefix{aa.Netip()}
	b := newBenchBy(t, fresh(), &machine{}, noon, r)
	effect := [5]float64{4, 0.2, 4, 4, 4}
	b.try(6, effect)
	p := lastPlan(t, b.m)
	if want := map[string]int{"trial": 3, "holdout": 1, "aa": 1}; !maps.Equal(states(p), want) || p.Experiment != "on" || p.HoldoutPermille != 0 || p.AAPermille != 0 {
		t.Fatalf("plan %v, experiment %s, %d and %d permille", states(p), p.Experiment, p.HoldoutPermille, p.AAPermille)
	}
	b.try(30, effect)
	if p = lastPlan(t, b.m); !maps.Equal(states(p), map[string]int{"promoted": 2, "holdout": 1, "aa": 1}) || b.told(policy.EventRetired)+b.told(policy.EventDemoted) != 1 {
		t.Errorf("after two pairs: %v", states(p))
	}
	if e, _ := p.Find(p.Entries[0].Prefix); e.State != "promoted" || e.Since <= noon+6*300 || e.Reason[:4] != "rate" {
		t.Errorf("promoted entry %+v", e)
	}
	b.try(60, effect)
	if p = lastPlan(t, b.m); !maps.Equal(states(p), map[string]int{"promoted": 2, "holdout": 1, "aa": 1}) || p.GroupPromoted != 16 {
		t.Errorf("five hours later: %v, groups of %d", states(p), p.GroupPromoted)
	}
}

// TestPromotedThroughOtherGroups: networks that have been promoted for two days stay so when rules give them other groups, by
// a reload and by a restart: what was measured stays in the groups that it was drawn in. A restart afterwards knows the same.
func TestPromotedThroughOtherGroups(t *testing.T) {
	for _, evidence := range []int64{24 * 3600, 12 * 3600, 48 * 3600} {
		for _, blocks := range []int{8, 12, 24, 48} {
			if testing.Short() && blocks != 12 {
				continue
			}
			r := policy.DefaultRules()
			s := fresh()
			b := newBenchBy(t, s, &machine{}, noon, r)
			effect := [5]float64{4, 4, 4, 1, 1}
			b.try(12*60, effect)
			p := lastPlan(t, b.m)
			if states(p)["promoted"] != 3 {
				t.Fatalf("plan %v", states(p))
			}
			retrials := b.told(policy.EventRetrial)
			other := r
			if other.Trial.EvidenceSeconds, other.Trial.GroupPromoted = evidence, blocks; other.Validate() != nil {
				continue
			}
			b.try(3, effect) // in the middle of a block
			if err := b.SetRules(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			b.try(12*30, effect)
			if p = lastPlan(t, b.m); states(p)["promoted"] != 3 || p.GroupPromoted != blocks || b.told(policy.EventRetrial) != retrials {
				t.Errorf("evidence of %d h, %d blocks: %v, groups of %d, %d retrials", evidence/3600, blocks, states(p), p.GroupPromoted, b.told(policy.EventRetrial)-retrials)
			}
			again := newBenchBy(t, s, &machine{}, b.now, other)
			for _, e := range p.Entries {
				x, _ := b.engine.Explain(e.Prefix)
				if y, _ := again.engine.Explain(e.Prefix); !reflect.DeepEqual(x, y) {
					t.Errorf("evidence of %d h, %d blocks: after a restart\n%s", evidence/3600, blocks, cmp.Diff(x, y))
				}
			}
		}
	}
}

// harming lists the five slow networks, which nothing but the brake stops then, and has a control block in each hour.
func harming() (policy.Rules, [5]float64) {
	r := policy.DefaultRules()
	r.Trial.BlockSeconds, r.Trial.GroupPromoted = 900, 4
	for i := range 5 {
		p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{198, 18, byte(i), 1}))
		r.Always = append(r.Always, policy.Listed{Net: p.Netip(), Reason: "radio"})
	}
	return r, [5]float64{0.3, 0.3, 0.3, 0.3, 0.3}
}

func TestBrakeStopsUntilResume(t *testing.T) {
	r, harm := harming()
	b := newBenchBy(t, fresh(), &machine{}, noon, r)
	for b.told(policy.EventBrake) == 0 && b.now < noon+24*3600 {
		b.try(1, harm)
	}
	if p := lastPlan(t, b.m); !b.m.killed || len(p.Entries) != 0 || string(b.s.settings["killed"]) != "1" || b.told(policy.EventBrake) != 1 {
		t.Fatalf("killed %t, plan %v, setting %q, %d events", b.m.killed, states(p), b.s.settings["killed"], b.told(policy.EventBrake))
	}
	again := newBenchBy(t, b.s, &machine{}, b.now, r)
	again.try(3, harm)
	if p := lastPlan(t, again.m); !again.m.killed || len(p.Entries) != 0 {
		t.Errorf("after a restart: killed %t, plan %v", again.m.killed, states(p))
	}
	if err := again.Resume(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	again.try(1, harm)
	if p := lastPlan(t, again.m); again.m.killed || len(p.Entries) != 5 {
		t.Errorf("after resume: killed %t, plan %v", again.m.killed, states(p))
	}
}

// TestBrakeWithAFullStore: what cannot be kept is done all the same.
func TestBrakeWithAFullStore(t *testing.T) {
	r, harm := harming()
	b := newBenchBy(t, fresh(), &machine{}, noon, r)
	b.try(13, harm)
	for !b.m.killed && b.now < noon+24*3600 {
		// The store fills up for the last window of each hour.
		b.s.full = (b.now+300)%3600 == 0
		o := tried(b.plan, b.now, harm)
		b.now += 300
		if err := b.Round(t.Context(), o); b.s.full != errors.Is(err, errFull) {
			t.Fatal(err)
		}
	}
	if !b.s.full || string(b.s.settings["killed"]) == "1" {
		t.Errorf("store full %t, setting %q", b.s.full, b.s.settings["killed"])
	}
}

// TestBrakeOnAWindowThatComesAgain: the store takes neither the window nor its round a second
// time, but the next start must know of the brake.
func TestBrakeOnAWindowThatComesAgain(t *testing.T) {
	r, harm := harming()
	b := newBenchBy(t, fresh(), &machine{}, noon, r)
	for b.told(policy.EventBrake) == 0 && b.now < noon+24*3600 {
		if b.now%3600 == 3300 { // weighed at the end of a block
			b.s.commits = append(b.s.commits, journal.Commit{Closed: true, Start: b.now})
		}
		b.try(1, harm)
	}
	if b.told(kindWindowAgain) == 0 || !b.killed || string(b.s.settings[journal.SettingKilled]) != "1" {
		t.Errorf("%d windows again, stopped %t, setting %q", b.told(kindWindowAgain), b.killed, b.s.settings[journal.SettingKilled])
	}
	if again := newBenchBy(t, b.s, &machine{}, b.now, r); !again.m.killed {
		t.Error("the brake did not survive a restart")
	}
}

func TestRestartInTheMiddleOfATrial(t *testing.T) {
	r := policy.DefaultRules()
	effect := [5]float64{4, 0.2, 1, 1, 1.2}
	for _, after := range []int{14, 25, 40, 50, 100} {
		b := newBenchBy(t, fresh(), &machine{}, noon, r)
		b.try(after, effect)
		copied := &store{commits: slices.Clone(b.s.commits), events: slices.Clone(b.s.events), settings: maps.Clone(b.s.settings)}
		again := newBenchBy(t, copied, &machine{}, b.now, r)
		for _, row := range b.engine.Rows() {
			x, _ := b.engine.Explain(row.Prefix)
			y, _ := again.engine.Explain(row.Prefix)
			p, _ := json.Marshal(x)
			q, _ := json.Marshal(y)
			if string(p) != string(q) {
				t.Errorf("restart after %d: %s\n%s\nwant\n%s", after, row.Prefix, q, p)
			}
		}
		b.try(40, effect)
		again.try(40, effect)
		if a, c := lastPlan(t, b.m), lastPlan(t, again.m); a.Hash() != c.Hash() {
			t.Errorf("restart after %d: %s", after, plan.Compare(a, c).Text())
		}
	}
}

// TestSelectionChanges: the store of a selection by level goes on under the default one, by a
// reload as by a restart. What the level selected is tried by belief, those that gain are promoted, and the others are given up.
func TestSelectionChanges(t *testing.T) {
	effect := [5]float64{4, 0.2, 4, 4, 4}
	for _, after := range []int{13, 20, 40} {
		for _, restart := range []bool{false, true} {
			b := newBenchBy(t, fresh(), &machine{}, noon, policy.DefaultRules().ByLevel())
			b.try(after, effect)
			if was := states(lastPlan(t, b.m)); !maps.Equal(was, map[string]int{"selected": 5}) {
				t.Fatalf("after %d: %v", after, was)
			}
			if restart {
				b = newBenchBy(t, b.s, &machine{}, b.now, policy.DefaultRules())
			} else if err := b.SetRules(t.Context(), policy.DefaultRules()); err != nil {
				t.Fatal(err)
			}
			b.try(1, effect)
			if is := states(lastPlan(t, b.m)); is["selected"] != 0 || b.told(policy.EventReleased) != 5 {
				t.Errorf("after %d, restart %t: %v, %d released", after, restart, is, b.told(policy.EventReleased))
			}
			b.try(72, effect)
			if is := states(lastPlan(t, b.m)); !maps.Equal(is, map[string]int{"promoted": 4}) || b.told(policy.EventSelected) != 10 {
				t.Errorf("after %d, restart %t: in the end %v, %d selected", after, restart, is, b.told(policy.EventSelected))
			}
		}
	}
}

// TestFrozenThroughAnotherSelection: a plan that is held stays valid when another selection takes its experiment away, or brings one. What was never
// treated is not treated for that, and a way back to an earlier plan is one to a valid plan.
func TestFrozenThroughAnotherSelection(t *testing.T) {
	r := policy.DefaultRules()
	hold, _ := record.PrefixOf(netip.MustParseAddr("198.18.3.1"))
	aa, _ := record.PrefixOf(netip.MustParseAddr("198.18.4.1"))
	r.HoldoutPrefixes, r.AAPrefixes = []netip.Prefix{hold.Netip()}, []netip.Prefix{aa.Netip()}
	effect := [5]float64{4, 4, 4, 4, 4}
	b := newBenchBy(t, fresh(), &machine{}, noon, r)
	b.try(40, effect)
	was := lastPlan(t, b.m)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(b.Freeze(t.Context(), "test"))
	for _, c := range []struct {
		rules policy.Rules
		want  map[string]int
	}{{r.ByLevel(), map[string]int{"selected": 3}}, {r, map[string]int{"trial": 3}}} {
		check(b.SetRules(t.Context(), c.rules))
		b.try(7, effect) // half of a plan's life
		if p := lastPlan(t, b.m); !maps.Equal(states(p), c.want) || (p.Experiment == plan.ExperimentOn) != c.rules.Experiment() {
			t.Errorf("%s: %v, experiment %s", c.rules.Select, states(p), p.Experiment)
		}
	}
	check(b.SetRules(t.Context(), r.ByLevel()))
	check(b.RollBack(t.Context(), was.Serial, "test"))
	if p := lastPlan(t, b.m); !maps.Equal(states(p), map[string]int{"selected": 3}) {
		t.Errorf("rolled back: %v", states(p))
	}
	check(b.Unfreeze(t.Context(), "test"))
	b.try(1, effect)
	if p := lastPlan(t, b.m); states(p)["selected"] != len(p.Entries) {
		t.Errorf("unfrozen: %v", states(p))
	}
}

// TestCooldownOutlivesItsWindows: a restart knows of a cool-down whose trial is long
// out of the windows that are replayed, and what it showed is believed until that is forgotten, once more as long.
func TestCooldownOutlivesItsWindows(t *testing.T) {
	r := policy.DefaultRules()
	r.Trial.CooldownSeconds = 3 * 86400
	none := [5]float64{1, 1, 1, 1, 1}
	b := newBenchBy(t, fresh(), &machine{}, noon, r)
	b.try(12*50, none)
	if n := b.told(policy.EventRetired); n != 5 {
		t.Fatalf("%d retired", n)
	}
	again := newBenchBy(t, b.s, &machine{}, b.now, r)
	again.try(6, none)
	if p := lastPlan(t, again.m); len(p.Entries) != 0 {
		t.Errorf("tried again after two days: %v", states(p))
	}
	again.try(12*24*5, none)
	if n := again.told(policy.EventSelected); n < 10 {
		t.Errorf("not tried again after six days: %d selected", n)
	}
}
