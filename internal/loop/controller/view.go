package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// View answers for a controller, and acts on it if that runs.
type View struct {
	*Controller
	Base  control.Status      // what does not change while it runs
	Agent func() agent.Status // nil in a replay of the store
}

var (
	_ control.View   = (*View)(nil)
	_ control.Action = (*View)(nil)
)

// Stored answers from a store alone, when nothing runs: it replays the store.
func Stored(ctx context.Context, s Store, o Options, version string, now func() time.Time) (control.View, error) {
	salt, _, err := s.Setting(ctx, journal.SettingSalt) // none: nothing was ever drawn
	if err != nil {
		return nil, err
	}
	if o, err = o.remembered(ctx, s); err != nil {
		return nil, err
	}
	c := &Controller{opt: o, store: s, now: now}
	if c.engine, err = Replay(ctx, s, o.engine(salt), now()); err != nil {
		return nil, err
	}
	k, err := plansOf(ctx, s)
	if err != nil {
		return nil, err
	}
	f := k.latest // where the host did not answer, it is what the next start puts in force
	if k.answered {
		f = k.accepted
	}
	if f.Serial != 0 {
		if c.plan, _, err = plan.Parse(f.Text); err != nil {
			return nil, err
		}
	}
	return &View{Controller: c, Base: control.Status{Version: version, PoP: o.PoP}}, nil
}

// Prefixes implements control.View: it joins what the policy knows with what the plan does now.
func (v *View) Prefixes(ctx context.Context, q control.PrefixesRequest) ([]control.PrefixRow, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, done, err := v.asked(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	rows := slices.DeleteFunc(e.Rows(), func(r policy.Row) bool {
		return q.Selected && r.Since == 0 || len(q.States) > 0 && !slices.Contains(q.States, r.State)
	})
	q.Sort.Sort(rows)
	if q.Limit > 0 && q.Limit < len(rows) {
		rows = rows[:q.Limit]
	}
	out := make([]control.PrefixRow, len(rows))
	v.planned(out, rows)
	return out, nil
}

// planned adds what the plan does now.
func (v *View) planned(out []control.PrefixRow, rows []policy.Row) {
	now := v.now().Unix()
	for i, r := range rows {
		out[i] = control.PrefixRow{Row: r}
		if v.plan != nil && !v.plan.Expired(now) {
			underPlan(&out[i], v.plan, now)
		}
	}
}

// underPlan fills in what a plan does with a prefix at a time.
func underPlan(row *control.PrefixRow, p *plan.Plan, now int64) {
	entry, ok := p.Find(row.Prefix)
	if !ok && row.State == policy.StateAlways {
		entry, ok = p.Find(record.All)
	}
	if !ok {
		return
	}
	row.Arm, _ = p.ArmAt(row.Prefix, now)
	if row.Arm != record.ArmHoldout && row.Arm != record.ArmAA {
		row.Treatment = entry.Cong
	}
	_, _, row.ArmUntil = plan.Block(now, p.BlockSeconds)
}

// Explain implements control.View.
func (v *View) Explain(ctx context.Context, p record.Prefix) (policy.Explanation, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, done, err := v.asked(ctx)
	if err != nil {
		return policy.Explanation{}, err
	}
	defer done()
	x, ok := e.Explain(p)
	if !ok {
		return x, &control.Error{Code: control.NotFound, Hint: "congctl prefixes",
			Text: fmt.Sprintf("prefix %s: no eligible connection of it was seen in the last 24 h", p)}
	}
	return x, nil
}

// Rounds implements control.View.
func (v *View) Rounds(ctx context.Context, n int) ([]journal.Round, error) {
	return v.store.Rounds(ctx, n)
}

// Events implements control.View.
func (v *View) Events(ctx context.Context, q control.EventsRequest) ([]journal.Event, error) {
	return v.store.Events(ctx, q.Prefix, q.Limit, q.Kinds...)
}

// Plan implements control.View.
func (v *View) Plan(ctx context.Context, serial record.PlanID) (control.PlanFile, error) {
	var f journal.PlanFile
	var ok bool
	var err error
	if serial == 0 {
		f, ok, err = v.store.LatestPlan(ctx)
	} else {
		f, ok, err = v.store.Plan(ctx, serial)
	}
	switch {
	case err != nil:
		return control.PlanFile{}, err
	case !ok:
		return control.PlanFile{}, &control.Error{Code: control.NotFound, Text: "no such plan", Hint: "congctl rounds"}
	}
	inForce := v.Agent != nil && uint64(f.Serial) == v.Agent().Plan
	return control.PlanFile{Serial: f.Serial, CreatedUnixS: f.Created, Hash: f.Hash, Text: string(f.Text), InForce: inForce}, nil
}

// Status implements control.View.
func (v *View) Status(ctx context.Context) (s control.Status, err error) {
	s = v.Base
	if v.Agent != nil {
		a := v.Agent()
		s.Running, s.Agent = true, &a
	}
	v.foresee(&s)
	err = v.recorded(ctx, &s)
	if !s.Running {
		s.Stopped = s.StoppedNext
		return s, err
	}
	s.Stopped = s.Agent.Stopped
	switch {
	case err != nil: // what runs is known all the same
		s.Agent.Alarms = append(s.Agent.Alarms, "store: cannot be read: "+err.Error())
	case s.Stopped != s.StoppedNext:
		s.Agent.Alarms = append(s.Agent.Alarms, "store: it does not know whether treatment is stopped: see stopped; repeat congctl stop or resume once it can be written")
	}
	return s, nil
}

// recorded fills in what the store says.
func (v *View) recorded(ctx context.Context, s *control.Status) (err error) {
	if s.StoppedNext, err = flag(ctx, v.store, journal.SettingKilled); err != nil {
		return err
	}
	if s.Frozen, err = flag(ctx, v.store, journal.SettingFrozen); err != nil {
		return err
	}
	f, _, err := v.store.LatestPlan(ctx)
	if err != nil {
		return err
	}
	s.Plan = f.Serial
	rounds, err := v.store.Rounds(ctx, 1)
	if len(rounds) == 1 {
		s.RoundUnixS, s.Ranked = rounds[0].RoundStart, rounds[0].Ranked
	}
	return err
}

// foresee says when something can be decided for the first time: at the end of the open
// window if one known window is missing.
func (v *View) foresee(s *control.Status) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rules := v.engine.Rules()
	s.MinRanked = rules.MinRanked
	if v.plan != nil {
		_, s.All = v.plan.Find(record.All)
	}
	if !s.Running {
		return
	}
	s.Treatment, s.ToDecide = v.opt.Treatment, v.windowsToDecide()
	if s.ToDecide > 0 {
		now := v.now().Unix()
		s.DecideUnixS = now - now%rules.WindowSeconds + int64(s.ToDecide)*rules.WindowSeconds
	}
}

// Measured is what the last round left, for metrics.
type Measured struct {
	Round    journal.Round // the zero value before the first
	Selected []policy.Selected
	Effect   effect.Fleet
	Cost     effect.Cost
	Taken    *policy.Taken    // nil while too little is known
	Plan     journal.PlanFile // the latest; serial 0 for none
}

func (c *Controller) effect(ctx context.Context) (effect.Fleet, effect.Cost, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, done, err := c.asked(ctx)
	if err != nil {
		return effect.Fleet{}, effect.Cost{}, err
	}
	defer done()
	all, cost := e.Effect()
	return all, cost, nil
}

// Measure returns it. It is cheap enough for once a round, not for once a request.
func (c *Controller) Measure(ctx context.Context) (m Measured, err error) {
	if m.Effect, m.Cost, err = c.effect(ctx); err != nil {
		return m, err
	}
	rounds, err := c.store.Rounds(ctx, 1)
	if err != nil || len(rounds) == 0 {
		return m, err
	}
	m.Round = rounds[0]
	var memory policy.Memory
	if err := json.Unmarshal(m.Round.SelectionJSON, &memory); err != nil {
		return m, fmt.Errorf("read selection of the last round: %w", err)
	}
	m.Selected, m.Taken = memory.Selected, memory.Turns.Taken()
	m.Plan, _, err = c.store.LatestPlan(ctx)
	return m, err
}
