package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/policy"
)

// TestOtherTreatment: what was learnt of one version of BBR counts no more under another, and is learnt again.
func TestOtherTreatment(t *testing.T) {
	rules := policy.DefaultRules().ByLevel()
	other := rules
	other.TreatmentVersion = 3
	b := newBenchBy(t, fresh(), &machine{}, t0, rules)
	b.rounds(15)
	same := newBenchBy(t, b.s, &machine{}, b.now, rules)
	if len(b.s.events) == 0 || len(same.engine.Rows()) == 0 || len(lastPlan(t, b.m).Entries) != 5 {
		t.Fatalf("before: %d networks known, %+v", len(same.engine.Rows()), lastPlan(t, b.m).Entries)
	}
	after := newBenchBy(t, b.s, &machine{}, b.now, other)
	if last := b.s.events[len(b.s.events)-1]; len(after.engine.Rows()) > 0 || last.Kind != kindTreatment || !strings.Contains(last.Text, "was bbr and is bbr version 3") {
		t.Errorf("%d networks known, last event %+v", len(after.engine.Rows()), last)
	}
	after.rounds(1)
	if p := lastPlan(t, after.m); len(p.Entries) != 0 {
		t.Errorf("treated at once: %+v", p.Entries)
	}
	after.rounds(14)
	events := len(b.s.events)
	again := newBenchBy(t, b.s, &machine{}, after.now, other)
	if p := lastPlan(t, after.m); len(p.Entries) != 5 || !slices.Equal(after.engine.Rows(), again.engine.Rows()) || len(b.s.events) != events {
		t.Errorf("learnt again: %d networks in the plan, %d known, %d after a restart", len(p.Entries), len(after.engine.Rows()), len(again.engine.Rows()))
	}
	if unknown := newBenchBy(t, b.s, &machine{}, after.now, rules); len(unknown.engine.Rows()) == 0 || len(b.s.events) != events {
		t.Error("a kernel that does not say its version has another one")
	}
}

// TestVersionOfFleet: a controller takes BBR's version from what its hosts say, once where it changes, and remembers it.
func TestVersionOfFleet(t *testing.T) {
	b := newBenchBy(t, fresh(), &machine{}, t0, policy.DefaultRules().ByLevel())
	round := func(version int) (known int) {
		t.Helper()
		w := window(b.now)
		w.BBRVersion = version
		b.now += 300
		if err := b.Round(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		return slices.IndexFunc(b.engine.Rows(), func(r policy.Row) bool { return r.Known > 1 })
	}
	changes := func() (n int) {
		for _, e := range b.s.events {
			if e.Kind == kindTreatment {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		says, has, changes int
		anew               bool
	}{{0, 0, 0, false}, {1, 0, 0, false}, {1, 0, 0, false}, {3, 3, 1, true}, {3, 3, 1, false}, {0, 3, 1, false}, {1, 0, 2, true}, {3, 3, 3, true}} {
		older := round(c.says) >= 0
		if v, n := b.engine.Rules().TreatmentVersion, changes(); v != c.has || n != c.changes || c.anew && older {
			t.Errorf("%+v: version %d, %d changes, measurements of before: %t", c, v, n, older)
		}
	}
	round(3)
	again := newBenchBy(t, b.s, &machine{}, b.now, policy.DefaultRules().ByLevel())
	if v := again.engine.Rules().TreatmentVersion; v != 3 || len(again.engine.Rows()) == 0 || changes() != 3 {
		t.Errorf("after a restart: version %d, %d networks known, %d changes", v, len(again.engine.Rows()), changes())
	}
}
