package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/plan"
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

// remember is how far back windows matter, seconds: the history and the windows
// that its first one may borrow from, or the oldest pair that may count.
func remember(r policy.Rules) int64 {
	level := r.MaxAgeSeconds + r.LookbackSeconds
	if t := r.Trial; t.On {
		return max(level, t.EvidenceSeconds+int64(t.GroupPromoted+1)*t.BlockSeconds)
	}
	return level
}

// shares are those of the prefixes that are drawn for hold-out and A/A, permille.
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

// engine makes one that knows nobody.
func (o Options) engine(salt []byte) *policy.Engine {
	holdout, aa := o.shares()
	return policy.NewExperiment(o.Rules, plan.NewDraws(salt, holdout, aa))
}

// Replay rebuilds an engine's state by running the stored windows through it,
// with the stored selections in place of new decisions.
func Replay(ctx context.Context, h History, e *policy.Engine, now time.Time) (*policy.Engine, error) {
	w, back := e.Rules().WindowSeconds, remember(e.Rules())
	from := now.Unix() - back
	heads, err := h.Heads(ctx, from, now.Unix())
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	rounds, err := h.Rounds(ctx, int(back/w))
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	selected := map[int64]*journal.Round{}
	for i := range rounds {
		selected[rounds[i].Window] = &rounds[i]
	}
	var memory policy.Memory
	for _, head := range heads {
		in := policy.Input{Start: head.Start, RoundStart: head.Start + w, Unknown: head.Note}
		err := h.Windows(ctx, head.Start, head.Start+1, func(row *record.Window) error {
			in.Rows = append(in.Rows, *row)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("replay window %d: %w", head.Start, err)
		}
		// A window without a round changes nothing.
		if r := selected[head.Start]; r != nil {
			memory = policy.Memory{}
			if err := json.Unmarshal(r.SelectionJSON, &memory); err != nil {
				return nil, fmt.Errorf("replay round %d: %w", r.RoundStart, err)
			}
		}
		e.Replay(in, memory)
	}
	return e, nil
}

// SetRules judges by other rules from the next round on: the state is rebuilt
// under them from the store. On an error the old rules stay.
func (c *Controller) SetRules(ctx context.Context, h History, rules policy.Rules) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	opt := c.opt
	opt.Rules = rules
	engine, err := Replay(ctx, h, opt.engine(c.salt), c.now())
	if err != nil {
		return err
	}
	c.engine, c.opt = engine, opt
	return nil
}
