package sqlite

import (
	"cmp"
	"context"

	"github.com/congctl/congctl/internal/loop/policy"
)

func putRound(ctx context.Context, tx conn, r *Round) error {
	if r == nil {
		return nil
	}
	return put(ctx, tx, "INSERT", "rounds", r.RoundStart, r.Window, int64(r.Known), int64(r.Ranked), int64(r.InGroup),
		int64(r.Selected), int64(r.New), int64(r.Released), int64(r.Refused), r.BoundaryBytesPerS, r.Note, string(r.SelectionJSON))
}

// Rounds returns the last n rounds, 0 for all, newest first.
func (s *Store) Rounds(ctx context.Context, n int) ([]Round, error) {
	rounds, err := list(ctx, s.read, "rounds", "ORDER BY round_start DESC LIMIT ?", []any{cmp.Or(n, -1)}, roundOf)
	return rounds, explain(s.path, "read rounds", err)
}

func roundOf(row []any) Round {
	n := func(i int) int { return int(row[i].(int64)) }
	return Round{SelectionJSON: []byte(row[11].(string)), Summary: policy.Summary{
		RoundStart: row[0].(int64), Window: row[1].(int64),
		Known: n(2), Ranked: n(3), InGroup: n(4), Selected: n(5), New: n(6), Released: n(7), Refused: n(8),
		BoundaryBytesPerS: row[9].(float64), Note: row[10].(string),
	}}
}
