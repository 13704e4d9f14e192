//go:build !small

package controller

import (
	"context"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

var _ control.Flow = (*View)(nil)

// rowsAtATime are made under the lock; all of them at once would take 70 MB for 100,000 prefixes.
const rowsAtATime = 512

// EachPrefix implements control.Flow. A round may end between two rows: what reads them is told of it, and asks again.
func (v *View) EachPrefix(ctx context.Context, each func(*control.PrefixRow) error) error {
	known, rows := make([]policy.Row, rowsAtATime), make([]control.PrefixRow, rowsAtATime)
	defer v.inTurns()()
	for last := record.Prefix(0); ; {
		n, err := v.after(ctx, last, known, rows)
		if err != nil {
			return err
		}
		for i := range n {
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		if n < rowsAtATime || ctx.Err() != nil {
			return ctx.Err()
		}
		last = rows[n-1].Prefix
	}
}

func (v *View) after(ctx context.Context, last record.Prefix, known []policy.Row, rows []control.PrefixRow) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, done, err := v.asked(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	n := e.RowsAfter(last, known)
	v.planned(rows, known[:n])
	return n, nil
}

// Recent returns each prefix's performance in the last n windows ([policy.Engine.Recent]).
func (v *View) Recent(ctx context.Context, prefixes []record.Prefix, n int) ([][]float32, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, done, err := v.asked(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out := make([][]float32, len(prefixes))
	for i, p := range prefixes {
		out[i] = e.Recent(p, n)
	}
	return out, nil
}
