package controller

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
)

// TestListedNetworks: the plan has what the operator lists after the first round; a
// replay of the store shows what was in force, also when the list has changed since; and
// the next round follows the new list, with a plan that the host takes.
func TestListedNetworks(t *testing.T) {
	rules := policy.DefaultRules()
	one := policy.Listed{Net: netip.MustParsePrefix("203.0.113.0/24"), Reason: "satellite link"}
	other := policy.Listed{Net: netip.MustParsePrefix("198.18.20.0/24"), Reason: "radio"}
	rules.Always = []policy.Listed{one, other}
	s, m := fresh(), &machine{}
	b := newBenchBy(t, s, m, t0, rules)
	b.rounds(1)
	p := lastPlan(t, m)
	if len(p.Entries) != 2 || p.Entries[1].State != plan.StateAlways || p.Entries[1].Prefix.Netip() != one.Net || p.Entries[1].Reason != one.Reason {
		t.Fatalf("plan after one window: %+v", p.Entries)
	}
	b.rounds(3)

	without := b.opt
	without.Rules.Always, without.Rules.Uncontrolled = []policy.Listed{other}, true
	stored, err := Stored(t.Context(), s, without, "test", b.Controller.now)
	if err != nil {
		t.Fatal(err)
	}
	x, err := stored.Explain(t.Context(), p.Entries[1].Prefix)
	if err != nil || x.State != policy.StateAlways || x.Chosen.Reason != one.Reason || x.Chosen.Uncontrolled {
		t.Errorf("replayed: %v, %s, %+v", err, x.State, x.Chosen)
	}

	if err := b.SetRules(t.Context(), without.Rules); err != nil {
		t.Fatal(err)
	}
	b.rounds(1)
	if p := lastPlan(t, m); len(p.Entries) != 1 || p.Entries[0].Prefix.Netip() != other.Net || p.Entries[0].State != plan.StateUncontrolled {
		t.Errorf("plan after the reload: %+v", p.Entries)
	}
}

// TestFrozenPlanFollowsNever: the host refuses a plan with a network of never as a
// whole, so a frozen plan, too, goes on without it, also after a restart.
func TestFrozenPlanFollowsNever(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(12)
	if err := b.Freeze(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	rules := b.opt.Rules
	never := netip.MustParsePrefix("198.18.2.0/24")
	rules.Guards.Never = []policy.Listed{{Net: never, Reason: "probe"}}
	if err := b.SetRules(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	judge := func(when string, p *plan.Plan) {
		t.Helper()
		if len(p.Entries) != 4 || slices.ContainsFunc(p.Entries, func(e plan.Entry) bool { return e.Prefix.Netip() == never }) {
			t.Errorf("%s: %+v", when, p.Entries)
		}
	}
	b.rounds(1)
	judge("frozen", lastPlan(t, m))
	delete(s.settings, settingInForce) // as if the host had refused it
	again := newBenchBy(t, s, &machine{}, b.now, rules)
	again.rounds(4)
	judge("after a restart", lastPlan(t, again.m))
	if err := again.Unfreeze(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	again.rounds(1)
	last := s.commits[len(s.commits)-1]
	if !slices.ContainsFunc(last.Events, func(e journal.Event) bool { return e.Kind == string(policy.EventReleased) }) {
		t.Errorf("not released after unfreeze: %+v", last.Events)
	}
}
