package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// Archive is what a store gives back.
type Archive interface {
	Setting(ctx context.Context, key string) ([]byte, bool, error)
	LatestPlan(context.Context) (journal.PlanFile, bool, error)
	Plan(ctx context.Context, serial record.PlanID) (journal.PlanFile, bool, error)
	History
}

// History is what the engine's state is rebuilt from.
type History interface {
	Heads(ctx context.Context, from, to int64) ([]journal.Head, error)
	Windows(ctx context.Context, from, to int64, row func(*record.Window) error) error
	Rounds(ctx context.Context, n int) ([]journal.Round, error)
}

// remember is how far back windows matter: the history's 24 h and the half hour
// that its first window may borrow from (in windows of 5 min; they scale).
const remember = 288 + 6

// Replay rebuilds the engine's state by running the stored windows through it,
// with the stored selections in place of new decisions.
func Replay(ctx context.Context, h History, rules policy.Rules, window time.Duration, now time.Time) (*policy.Engine, error) {
	e := policy.New(rules)
	w := int64(window / time.Second)
	from := now.Unix() - remember*w
	heads, err := h.Heads(ctx, from, now.Unix())
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	rounds, err := h.Rounds(ctx, remember)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	selected := map[int64]*journal.Round{}
	for i := range rounds {
		selected[rounds[i].Window] = &rounds[i]
	}
	for _, head := range heads {
		in := policy.Input{Start: head.Start, RoundStart: head.Start + w, Unknown: head.Note}
		err := h.Windows(ctx, head.Start, head.Start+1, func(row *record.Window) error {
			in.Rows = append(in.Rows, *row)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("replay window %d: %w", head.Start, err)
		}
		var sel []policy.Selected
		if r := selected[head.Start]; r != nil {
			if err := json.Unmarshal(r.SelectionJSON, &sel); err != nil {
				return nil, fmt.Errorf("replay round %d: %w", r.RoundStart, err)
			}
		}
		e.Replay(in, sel)
	}
	return e, nil
}

// SetRules judges by other rules from the next round on: the state is rebuilt
// under them from the store. On an error the old rules stay.
func (c *Controller) SetRules(ctx context.Context, h History, rules policy.Rules) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	engine, err := Replay(ctx, h, rules, c.opt.Window, c.now())
	if err != nil {
		return err
	}
	c.engine, c.opt.Rules = engine, rules
	return nil
}
