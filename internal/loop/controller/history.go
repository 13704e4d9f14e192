package controller

import (
	"context"
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// The kinds of events that say what became of a plan: whose it is, and those of fleet/rollout. The text
// of each begins with "plan" and the serial.
const (
	kindPush     = "push"
	kindRollback = "rollback"
)

var kindsOfPlans = []string{kindPush, kindRollback, "rollout-stage", "rollout-settled", "rollout-back", "rollout-replaced"}

// maxTold events of one plan: two stages with their canaries, the wait before and the end.
const maxTold = 8

// History implements control.View.
func (v *View) History(ctx context.Context, n int) ([]control.PlanLine, error) {
	more := n
	if n > 0 {
		more = n + 1 // to compare the oldest with
	}
	files, err := v.store.Plans(ctx, more)
	if err != nil {
		return nil, err
	}
	told, err := v.store.Events(ctx, 0, maxTold*more, kindsOfPlans...)
	if err != nil {
		return nil, err
	}
	lines, err := linesOf(files)
	if err != nil {
		return nil, err
	}
	if n > 0 && len(lines) > n {
		lines = lines[:n]
	}
	v.explain(lines, told)
	return lines, nil
}

// linesOf compares each plan with the next, which is the one before it.
func linesOf(files []journal.PlanFile) ([]control.PlanLine, error) {
	lines := make([]control.PlanLine, len(files))
	var after *plan.Plan
	for i, f := range files {
		p, _, err := plan.Parse(f.Text)
		if err != nil {
			return nil, fmt.Errorf("read plan %d of the store: %w", f.Serial, err)
		}
		lines[i] = control.PlanLine{Serial: f.Serial, CreatedUnixS: f.Created, Networks: len(p.Entries), Hash: f.Hash, By: "round"}
		if i > 0 {
			count(&lines[i-1], p, after)
		}
		if after = p; i == len(files)-1 {
			count(&lines[i], nil, p)
		}
	}
	return lines, nil
}

func count(l *control.PlanLine, before, p *plan.Plan) {
	d := plan.Compare(before, p)
	l.Added, l.Removed, l.Changed = len(d.Added), len(d.Removed), len(d.Changed)
}

// explain fills in what was told of the plans. The newest event says what state a plan is in; of those that
// took it back, the oldest says why.
func (v *View) explain(lines []control.PlanLine, told []journal.Event) {
	at := map[record.PlanID]*control.PlanLine{}
	for i := range lines {
		at[lines[i].Serial] = &lines[i]
	}
	for i := range told {
		var serial record.PlanID
		if _, err := fmt.Sscanf(told[i].Text, "plan %d", &serial); err == nil && at[serial] != nil {
			tell(at[serial], &told[i])
		}
	}
	if v.Agent == nil {
		return
	}
	if l := at[record.PlanID(v.Agent().Plan)]; l != nil {
		l.State = "in force"
	}
}

func tell(l *control.PlanLine, e *journal.Event) {
	said := strings.TrimLeft(strings.TrimPrefix(e.Text, fmt.Sprintf("plan %d", l.Serial)), ": ")
	state, _, _ := strings.Cut(said, " ")
	switch e.Kind {
	case kindPush, kindRollback:
		l.By = strings.TrimPrefix(said, "by ")
		return
	case "rollout-stage":
		state = strings.TrimSuffix(state, ",")
	case "rollout-settled":
		state = "settled"
	case "rollout-back":
		state = "taken back"
	case "rollout-replaced":
		if state = "replaced"; strings.HasPrefix(said, "waits for") {
			state = "waits"
		}
	}
	if l.State == "" || l.State == state && state == "taken back" {
		l.State, l.Why = state, said
	}
}
