package simulate

import (
	"context"
	"fmt"

	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// Replay by level alone. Each PoP has an engine of its own; each window is one round
// of it. The rules of trial and promotion do not run: they ask what a treatment
// changed, and in recorded windows nothing changes when the rules do.
//
// A window without a row is no round: nothing is decided and nothing printed, as when
// no congctl had run. For the policy it is a window in which everybody is unknown.

// Round is what one round of one PoP decided.
type Round struct {
	RoundStart int64           `json:"round_start"` // end of the window, Unix seconds
	PoP        string          `json:"pop"`
	Known      int             `json:"known"`    // prefixes whose performance is known
	Selected   []record.Prefix `json:"selected"` // after the round, by prefix
	Added      []record.Prefix `json:"added"`    // not selected before the round
	Released   []record.Prefix `json:"released"` // no longer selected
}

// Source is recorded windows: each is called for one window of one PoP at a time, and
// for those of a PoP from the oldest on.
type Source interface {
	Windows(ctx context.Context, each func(pop string, in policy.Input) error) error
}

// Replay calls each with every round that the rules make of the windows.
func Replay(ctx context.Context, rules policy.Rules, s Source, each func(Round) error) error {
	pops := map[string]*replayed{}
	return s.Windows(ctx, func(pop string, in policy.Input) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replay window %d: %w", in.Start, err)
		}
		p := pops[pop]
		if p == nil {
			p = &replayed{engine: policy.New(rules)}
			pops[pop] = p
		}
		r := p.round(in)
		r.PoP = pop
		return each(r)
	})
}

// replayed is one PoP.
type replayed struct {
	engine   *policy.Engine
	selected []record.Prefix
}

func (p *replayed) round(in policy.Input) Round {
	d := p.engine.Round(in)
	now := make([]record.Prefix, 0, len(d.Selection))
	for _, s := range d.Selection {
		now = append(now, s.Prefix)
	}
	r := Round{RoundStart: in.RoundStart, Known: d.Known, Selected: now, Added: without(now, p.selected), Released: without(p.selected, now)}
	p.selected = now
	return r
}

// without gives what is in a and not in b; both are in the order of prefixes.
func without(a, b []record.Prefix) []record.Prefix {
	out := []record.Prefix{}
	for _, p := range a {
		for len(b) > 0 && b[0] < p {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != p {
			out = append(out, p)
		}
	}
	return out
}
