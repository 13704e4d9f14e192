package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Replay by level alone. Each PoP has its own engine; each window is one round of it. The
// rules of trial and promotion do not run: they depend on what a treatment changed, and in
// recorded windows nothing changes when the rules do.
//
// A window without a row is no round: nothing is decided and nothing printed, as if no
// congctl had run. For the policy it is a window in which every prefix is unknown.

// Round is what one round of one PoP decided.
type Round struct {
	RoundStart int64           `json:"round_start_unix_s"` // end of the window, Unix seconds
	PoP        string          `json:"pop"`
	Known      int             `json:"known"`    // prefixes whose performance is known
	Selected   []record.Prefix `json:"selected"` // after the round, by prefix
	Added      []record.Prefix `json:"added"`    // not selected before the round
	Released   []record.Prefix `json:"released"` // no longer selected
}

// Source is recorded windows: each is called for one window of one PoP at a time, and for
// those of a PoP from the oldest on.
type Source interface {
	Windows(ctx context.Context, each func(pop string, in policy.Input) error) error
}

// Replay calls each with every round that the rules make of the windows.
func Replay(ctx context.Context, rules policy.Rules, s Source, each func(Round) error) error {
	rules = rules.ByLevel()
	pops := map[string]*replayed{}
	return s.Windows(ctx, func(pop string, in policy.Input) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replay window %d: %w", in.Start, err)
		}
		p := pops[pop]
		if p == nil {
			p = &replayed{engine: policy.New(rules, nil)}
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

// without returns what is in a but not in b; both are in the order of prefixes.
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

// RoundWriter returns a function that writes one round on its own line, with the
// heading before the first. A replay of days is read while it runs, so no column width
// can wait for the last line.
func RoundWriter(w io.Writer) func(Round) error {
	const columns = "%-20s  %-10s  %-5s  %-8s  %-5s  %-8s  %s\n"
	head := func() error {
		_, err := fmt.Fprintf(w, columns, "ROUND", "POP", "KNOWN", "SELECTED", "ADDED", "RELEASED", "CHANGES")
		return err
	}
	return func(r Round) error {
		if head != nil {
			if err := head(); err != nil {
				return err
			}
			head = nil
		}
		_, err := fmt.Fprintf(w, columns, answer.Stamp(r.RoundStart), r.PoP, fmt.Sprint(r.Known), fmt.Sprint(len(r.Selected)),
			fmt.Sprint(len(r.Added)), fmt.Sprint(len(r.Released)), changes(r))
		return err
	}
}

func changes(r Round) string {
	var list []string
	for _, p := range r.Added {
		list = append(list, "+"+p.String())
	}
	for _, p := range r.Released {
		list = append(list, "-"+p.String())
	}
	return answer.Or(strings.Join(list, " "), "-")
}

// Stored is the windows of a store, as they are in it: a prefix treated then has no
// control rows in its treatment blocks and is unknown there, and a window marked as
// unknown stays so. With the rules of that time it decides what was decided then.
type Stored struct {
	PoP           string
	WindowSeconds int64
	Store         journal.Recorded
}

// Windows implements Source.
func (s Stored) Windows(ctx context.Context, each func(pop string, in policy.Input) error) error {
	return journal.Inputs(ctx, s.Store, 0, math.MaxInt64, s.WindowSeconds, func(in policy.Input) error {
		if in.Start%s.WindowSeconds != 0 {
			return fmt.Errorf("read windows of the store: window %d: %w", in.Start, ErrWindow)
		}
		return each(s.PoP, in)
	})
}

// ErrWindow: the store was made with windows of another length.
var ErrWindow = errors.New("does not start at a multiple of the policy's window; set window in the policy's file as it was")
