package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Store keeps decisions and remembers them.
type Store interface {
	journal.Recorded
	Rounds(ctx context.Context, n int) ([]journal.Round, error)
	CommitRound(context.Context, *journal.Commit) error
	Settings
	LatestPlan(context.Context) (journal.PlanFile, bool, error)
	Plan(ctx context.Context, serial record.PlanID) (journal.PlanFile, bool, error)
	Plans(ctx context.Context, n int) ([]journal.PlanFile, error)
	Events(ctx context.Context, p record.Prefix, n int, kinds ...string) ([]journal.Event, error)
}

// shares returns the shares of prefixes drawn for hold-out and A/A, permille.
func (o Options) shares() (holdout, aa int) {
	holdout, aa = o.HoldoutPermille, o.AAPermille
	if len(o.Rules.HoldoutPrefixes) > 0 {
		holdout = 0
	}
	if len(o.Rules.AAPrefixes) > 0 {
		aa = 0
	}
	return holdout, aa
}

// engine makes an engine that knows no prefix.
func (o Options) engine(salt []byte) *policy.Engine {
	holdout, aa := o.shares()
	e := policy.New(o.Rules, plan.NewDraws(salt, holdout, aa).ByPoP(o.Rules.PoPGroup()))
	e.Name(o.Networks)
	return e
}

// Replay rebuilds an engine's state by running the stored windows through it,
// with the stored selections in place of new decisions.
func Replay(ctx context.Context, s Store, e *policy.Engine, now time.Time) (*policy.Engine, error) {
	w, back := e.Rules().WindowSeconds, e.Rules().RememberSeconds()
	from, err := evidenceFrom(ctx, s, now.Unix()-back)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	rounds, err := s.Rounds(ctx, int(back/w))
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	selected := map[int64]*journal.Round{}
	for i := range rounds {
		selected[rounds[i].Window] = &rounds[i]
	}
	var memory policy.Memory
	err = journal.Inputs(ctx, s, from, now.Unix(), w, func(in policy.Input) error {
		// A window without a round changes nothing.
		if r := selected[in.Start]; r != nil {
			memory = policy.Memory{}
			if err := json.Unmarshal(r.SelectionJSON, &memory); err != nil {
				return fmt.Errorf("replay round %d: %w", r.RoundStart, err)
			}
		}
		e.Replay(in, memory)
		return nil
	})
	return e, err
}

// SetRules applies other rules from the next round on: it rebuilds the state under them
// from the store. On an error the old rules stay.
func (c *Controller) SetRules(ctx context.Context, rules policy.Rules) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	opt := c.opt
	opt.Rules = rules
	opt, err := opt.remembered(ctx, c.store)
	if err != nil {
		return err
	}
	return c.relearn(ctx, opt)
}

// relearn makes the state of the store under other options; on an error the old ones stay.
func (c *Controller) relearn(ctx context.Context, opt Options) error {
	engine, err := Replay(ctx, c.store, opt.engine(c.salt), c.now())
	if err != nil {
		return err
	}
	c.engine, c.opt = engine, opt
	return nil
}
