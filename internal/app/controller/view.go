package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// Reader is what the views read beside the engine.
type Reader interface {
	Rounds(ctx context.Context, n int) ([]journal.Round, error)
	Events(ctx context.Context, p record.Prefix, n int) ([]journal.Event, error)
	Plan(ctx context.Context, serial record.PlanID) (journal.PlanFile, bool, error)
	LatestPlan(context.Context) (journal.PlanFile, bool, error)
	Setting(ctx context.Context, key string) ([]byte, bool, error)
}

// Stored answers from a store alone, when nothing runs.
type Stored struct {
	r       Reader
	engine  *policy.Engine
	plan    *plan.Plan
	pop     string
	version string
	now     func() time.Time
}

var (
	_ control.View = (*Stored)(nil)
	_ control.View = (*Live)(nil)
)

// NewStored replays the store.
func NewStored(ctx context.Context, r Reader, h History, o Options, version string, now func() time.Time) (*Stored, error) {
	salt, _, err := r.Setting(ctx, journal.SettingSalt) // none: nothing was ever drawn
	if err != nil {
		return nil, err
	}
	engine, err := Replay(ctx, h, o.engine(salt), now())
	if err != nil {
		return nil, err
	}
	s := &Stored{r: r, engine: engine, pop: o.PoP, version: version, now: now}
	f, ok, err := r.LatestPlan(ctx)
	if err != nil || !ok {
		return s, err
	}
	s.plan, _, err = plan.Parse(f.Text)
	return s, err
}

// Prefixes implements control.View.
func (s *Stored) Prefixes(_ context.Context, q control.PrefixesRequest) ([]control.PrefixRow, error) {
	return prefixRows(s.engine, s.plan, s.now().Unix(), q), nil
}

// Explain implements control.View.
func (s *Stored) Explain(_ context.Context, p record.Prefix) (policy.Explanation, error) {
	return explain(s.engine, p)
}

// Rounds implements control.View.
func (s *Stored) Rounds(ctx context.Context, n int) ([]journal.Round, error) {
	return s.r.Rounds(ctx, n)
}

// Events implements control.View.
func (s *Stored) Events(ctx context.Context, q control.EventsRequest) ([]control.Event, error) {
	return events(ctx, s.r, q)
}

// Plan implements control.View.
func (s *Stored) Plan(ctx context.Context, serial record.PlanID) (control.PlanFile, error) {
	return planFile(ctx, s.r, serial, 0)
}

// Status implements control.View.
func (s *Stored) Status(ctx context.Context) (control.Status, error) {
	return status(ctx, s.r, control.Status{Version: s.version, PoP: s.pop})
}

// prefixRows joins what the policy knows with what the plan does now.
func prefixRows(e *policy.Engine, p *plan.Plan, now int64, q control.PrefixesRequest) []control.PrefixRow {
	out := []control.PrefixRow{}
	for _, r := range e.Rows() {
		row := control.PrefixRow{Row: r}
		if p != nil && !p.Expired(now) {
			if entry, ok := p.Find(r.Prefix); ok {
				row.Arm, _ = p.ArmAt(r.Prefix, now)
				if row.Arm != record.ArmHoldout && row.Arm != record.ArmAA {
					row.Treatment = entry.Cong
				}
				_, _, row.ArmUntil = plan.Block(now, p.BlockSeconds)
			}
		}
		if q.Selected && r.Since == 0 {
			continue
		}
		if out = append(out, row); q.Limit > 0 && len(out) == q.Limit {
			break
		}
	}
	return out
}

func explain(e *policy.Engine, p record.Prefix) (policy.Explanation, error) {
	x, ok := e.Explain(p)
	if !ok {
		return x, &control.Error{Code: control.NotFound, Hint: "congctl prefixes",
			Text: fmt.Sprintf("prefix %s: no eligible connection of it was seen in the last 24 h", p)}
	}
	return x, nil
}

func events(ctx context.Context, r Reader, q control.EventsRequest) ([]control.Event, error) {
	list, err := r.Events(ctx, q.Prefix, q.Limit)
	if err != nil {
		return nil, err
	}
	out := make([]control.Event, 0, len(list))
	for _, e := range list {
		out = append(out, control.EventOf(e))
	}
	return out, nil
}

func planFile(ctx context.Context, r Reader, serial, force record.PlanID) (control.PlanFile, error) {
	get := r.LatestPlan
	if serial != 0 {
		get = func(ctx context.Context) (journal.PlanFile, bool, error) { return r.Plan(ctx, serial) }
	}
	f, ok, err := get(ctx)
	if err != nil {
		return control.PlanFile{}, err
	}
	if !ok {
		return control.PlanFile{}, &control.Error{Code: control.NotFound, Text: "no such plan", Hint: "congctl rounds"}
	}
	return control.PlanFile{Serial: f.Serial, CreatedUnixS: f.Created, Hash: f.Hash, Text: string(f.Text), InForce: force != 0 && f.Serial == force}, nil
}

// status fills in what is in the store.
func status(ctx context.Context, r Reader, s control.Status) (control.Status, error) {
	var err error
	if s.Killed, err = setting(ctx, r, journal.SettingKilled); err != nil {
		return s, err
	}
	if s.Frozen, err = setting(ctx, r, journal.SettingFrozen); err != nil {
		return s, err
	}
	f, _, err := r.LatestPlan(ctx)
	if err != nil {
		return s, err
	}
	s.Plan = f.Serial
	rounds, err := r.Rounds(ctx, 1)
	if len(rounds) == 1 {
		s.RoundUnixS = rounds[0].RoundStart
	}
	return s, err
}

func setting(ctx context.Context, r Reader, key string) (bool, error) {
	v, _, err := r.Setting(ctx, key)
	return string(v) == "1", err
}
