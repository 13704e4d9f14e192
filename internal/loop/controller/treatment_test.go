package controller

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestVersionOfFleet: a controller takes BBR's version from what its hosts say in three windows in a row, once where it changes,
// and remembers it. The first that it hears is of what it has learnt so far.
func TestVersionOfFleet(t *testing.T) {
	rules := policy.DefaultRules().ByLevel()
	b := newBenchBy(t, fresh(), &machine{}, t0, rules)
	round := func(version int) (known int) {
		t.Helper()
		w := window(b.now)
		w.BBRVersion = version
		b.now += 300
		if err := b.Round(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		return b.engine.Rows()[0].Known
	}
	changes := func() (n int) {
		for _, e := range b.s.events {
			if e.Kind == kindTreatment {
				n++
			}
		}
		return n
	}
	for i, c := range []struct{ says, has, changes, known int }{
		{0, 0, 0, 1}, {3, 0, 0, 2}, {3, 0, 0, 3}, {3, 3, 0, 4}, // first heard
		{1, 3, 0, 5}, {1, 3, 0, 6}, {0, 3, 0, 7}, {1, 3, 0, 8}, {3, 3, 0, 9}, // never three in a row
		{1, 3, 0, 10}, {1, 3, 0, 11}, {1, 1, 1, 1}, {1, 1, 1, 2}, // another one: the window that says so is the first of it
		{3, 1, 1, 3}, {3, 1, 1, 4}, {3, 3, 2, 1}, {0, 3, 2, 2},
	} {
		known := round(c.says)
		if v, n := b.engine.Rules().TreatmentVersion, changes(); v != c.has || n != c.changes || known != c.known {
			t.Errorf("window %d, %+v: version %d, %d changes, %d windows known", i, c, v, n, known)
		}
	}
	again := newBenchBy(t, b.s, &machine{}, b.now, rules)
	if v, rows := again.engine.Rules().TreatmentVersion, again.engine.Rows(); v != 3 || len(rows) == 0 || rows[0].Known != 2 || changes() != 2 {
		t.Errorf("after a restart: version %d, %d networks known, %d changes", v, len(rows), changes())
	}
	if err := again.SetRules(t.Context(), rules); err != nil || again.engine.Rules().TreatmentVersion != 3 {
		t.Errorf("after a reload: version %d, %v", again.engine.Rules().TreatmentVersion, err)
	}
	v, err := Stored(t.Context(), b.s, Options{PoP: "pop", Rules: rules, Treatment: "bbr", MinBytes: 100_000}, "", func() time.Time { return time.Unix(b.now, 0) })
	if err != nil || v.(*View).engine.Rules().TreatmentVersion != 3 {
		t.Errorf("of the store alone: %+v, %v", v, err)
	}
}

// TestVersionIsWritten: a host that knows its version writes it over an earlier congctl's store, whose evidence stays.
func TestVersionIsWritten(t *testing.T) {
	rules := policy.DefaultRules().ByLevel()
	b := newBenchBy(t, fresh(), &machine{}, t0, rules)
	b.rounds(2)
	o := b.opt
	o.TreatmentKnown = true
	c, err := New(t.Context(), o, b.s, slog.New(slog.DiscardHandler), func() time.Time { return time.Unix(b.now, 0) })
	if err != nil || len(c.engine.Rows()) == 0 || string(b.s.settings[settingTreatment]) != "bbr version 1" {
		t.Errorf("%v; the store says %q", err, b.s.settings[settingTreatment])
	}
}
