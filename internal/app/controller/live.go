package controller

import (
	"context"

	"github.com/congctl/congctl/internal/app/agent"
	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// Live answers for a running controller and acts on it.
type Live struct {
	*Controller
	R      Reader
	Base   control.Status // what does not change while it runs
	Agent  func() agent.Status
	Config func(context.Context) error // reads the configuration again
}

var _ control.Action = (*Live)(nil)

// Prefixes implements control.View.
func (l *Live) Prefixes(_ context.Context, q control.PrefixesRequest) ([]control.PrefixRow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return prefixRows(l.engine, l.plan, l.now().Unix(), q), nil
}

// Explain implements control.View.
func (l *Live) Explain(_ context.Context, p record.Prefix) (policy.Explanation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return explain(l.engine, p)
}

// Rounds implements control.View.
func (l *Live) Rounds(ctx context.Context, n int) ([]journal.Round, error) { return l.R.Rounds(ctx, n) }

// Events implements control.View.
func (l *Live) Events(ctx context.Context, q control.EventsRequest) ([]control.Event, error) {
	return events(ctx, l.R, q)
}

// Plan implements control.View.
func (l *Live) Plan(ctx context.Context, serial record.PlanID) (control.PlanFile, error) {
	return planFile(ctx, l.R, serial, record.PlanID(l.Agent().Plan))
}

// Status implements control.View.
func (l *Live) Status(ctx context.Context) (control.Status, error) {
	s := l.Base
	s.Running = true
	a := l.Agent()
	s.Agent = &a
	return status(ctx, l.R, s)
}

// Reload implements control.Action; the others are the controller's own.
func (l *Live) Reload(ctx context.Context, by string) error {
	if err := l.Config(ctx); err != nil {
		return err
	}
	return l.store.AddEvents(ctx, journal.Event{At: l.now().Unix(), Kind: "reload", Text: "configuration read again by " + by})
}
