package controller

import (
	"bytes"
	"errors"
	"testing"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
)

// TestKeys: the next key is made and shown first, then signs, and the one before it is gone; what it
// signed can still be read here, over a restart, too.
func TestKeys(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(12)
	was, ctx := lastPlan(t, m), t.Context()
	old, seed := b.PublicKey(), bytes.Clone(s.settings[journal.SettingSigningKey])
	var said *control.Error
	if err := b.SwitchKey(ctx, "ann"); !errors.As(err, &said) || said.Code != control.Conflict {
		t.Errorf("without a next key: %v", err)
	}
	if _, next, err := b.Keys(ctx); err != nil || next != nil {
		t.Errorf("before one is made: %x, %v", next, err)
	}
	for range 2 { // the second changes nothing
		if err := b.MakeKey(ctx, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	now, next, err := b.Keys(ctx)
	if err != nil || len(next) != len(old) || bytes.Equal(next, old) || !bytes.Equal(now, old) {
		t.Fatalf("next %x, %v", next, err)
	}
	if err := b.SwitchKey(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	last := m.plans[len(m.plans)-1]
	p, err := plan.Open(last, next)
	if err != nil || p.Serial != was.Serial+1 || len(p.Entries) != len(was.Entries) || b.frozen {
		t.Errorf("the plan in force is not signed anew: %+v, %v", p, err)
	}
	for key, v := range s.settings {
		if bytes.Contains(v, seed) {
			t.Errorf("the key before it is still in %s", key)
		}
	}
	again := newBench(t, s, &machine{}, b.now)
	if !bytes.Equal(again.PublicKey(), next) || again.plan.Serial != p.Serial {
		t.Errorf("after a restart: key %x, plan %+v", again.PublicKey(), again.plan)
	}
	if err := again.RollBack(ctx, was.Serial, "ann"); err != nil {
		t.Errorf("what the key before signed is not read: %v", err)
	}
	if err := plan.Verify(again.m.plans[len(again.m.plans)-1], next); err != nil {
		t.Error(err)
	}
}
