package controller

import (
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
)

// TestAnothersStore: a controller with a key of its own goes on from what another decided: the plan in force stays as
// that one signed it, and the next ones have its own signature, the same content and later serials.
func TestAnothersStore(t *testing.T) {
	s, m := fresh(), &machine{}
	one := newBench(t, s, m, t0)
	one.rounds(15)
	copied := &store{commits: slices.Clone(s.commits), events: slices.Clone(s.events), settings: maps.Clone(s.settings)}
	delete(copied.settings, journal.SettingSigningKey)
	two := &bench{t: t, s: copied, m: &machine{}, now: one.now}
	o := Options{PoP: "pop", Rules: policy.DefaultRules().ByLevel(), Treatment: "bbr", MinBytes: 100_000}
	take := func() (err error) {
		two.Controller, err = New(t.Context(), o, copied, slog.New(slog.DiscardHandler), func() time.Time { return time.Unix(two.now, 0) })
		if err == nil {
			err = two.Attach(t.Context(), two.m)
		}
		return err
	}
	if err := take(); err == nil {
		t.Fatal("a controller that shares nothing took a plan that it has not signed")
	}
	o.Shared = true
	if err := take(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.engine.Rows(), two.engine.Rows()) {
		t.Error("the engines differ")
	}
	if len(two.m.plans) != 1 || !slices.Equal(two.m.plans[0], m.plans[len(m.plans)-1]) {
		t.Error("the plan in force is not that of before, to the byte")
	}
	was := lastPlan(t, m).Serial
	one.rounds(12)
	two.rounds(12)
	a, b := lastPlan(t, m), lastPlan(t, two.m)
	if b.Serial <= was || plan.Compare(a, b).Text() != plan.Compare(a, a).Text() {
		t.Errorf("plan %d after %d: %s", b.Serial, was, plan.Compare(a, b).Text())
	}
	if err := plan.Verify(two.m.plans[len(two.m.plans)-1], two.PublicKey()); err != nil {
		t.Error(err)
	}
	if err := two.Rewrite(t.Context(), was); err != nil {
		t.Errorf("another's plan cannot be written anew: %v", err)
	}
}
