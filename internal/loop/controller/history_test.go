package controller

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
)

func (s *store) Plans(_ context.Context, n int) (f []journal.PlanFile, err error) {
	for _, c := range slices.Backward(s.commits) {
		if c.Plan != nil && (n == 0 || len(f) < n) {
			f = append(f, *c.Plan)
		}
	}
	return f, nil
}

// TestHistory: whose each plan is, what it changed and what became of it, from plans and events alone.
func TestHistory(t *testing.T) {
	b, _, was := pushable(t)
	ctx := t.Context()
	if err := b.Push(ctx, edited(was, func(p *plan.Plan) { p.Entries = p.Entries[1:] }), was.Serial, "ann"); err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct{ kind, text string }{
		{"rollout-stage", "plan 2: canary edge-1"}, {"rollout-settled", "plan 2 is in force on 3 hosts"},
		{"rollout-stage", "plan 3: canary edge-2"}, {"rollout-stage", "plan 3: share, 1 more host"},
		{"rollout-stage", "plan 4: canary edge-2"}, {"rollout-back", "plan 4: edge-2 refuses plan 4: no; back to the content of plan 3"},
	} {
		if err := b.Tell(ctx, e.kind, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Rewrite(ctx, was.Serial); err != nil {
		t.Fatal(err)
	}
	if err := b.Tell(ctx, "rollout-back", "plan 4: plan 5 takes its place on all hosts"); err != nil {
		t.Fatal(err)
	}
	last := b.serial
	v := &View{Controller: b.Controller, Agent: func() agent.Status { return agent.Status{Plan: uint64(last)} }}
	all, err := v.History(ctx, 0)
	if err != nil || len(all) != int(last) || last != 5 {
		t.Fatalf("%d lines of %d plans: %v", len(all), last, err)
	}
	for i := range all {
		all[i].Hash, all[i].CreatedUnixS = "", 0
	}
	want := []control.PlanLine{
		{Serial: 5, By: "the roll-out", Networks: 5, Added: 1, State: "in force"},
		{Serial: 4, By: "ann", Networks: 4, Removed: 1, State: "taken back", Why: "edge-2 refuses plan 4: no; back to the content of plan 3"},
		{Serial: 3, By: "round", Networks: 5, Added: 5, State: "share", Why: "share, 1 more host"},
		{Serial: 2, By: "round", State: "settled", Why: "is in force on 3 hosts"},
		{Serial: 1, By: "round"},
	}
	if d := cmp.Diff(want, all); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	two, err := v.History(ctx, 2)
	if err != nil || len(two) != 2 || two[1].Serial != 4 || two[1].Removed != 1 || len(two[1].Hash) != 64 {
		t.Errorf("the last two: %+v, %v", two, err)
	}
	var w strings.Builder
	if err := control.WriteHistory(&w, two); err != nil || !strings.Contains(w.String(), "taken back  edge-2 refuses") {
		t.Errorf("%v\n%s", err, w.String())
	}
}
