package sqlite

import "context"

func putRound(ctx context.Context, tx conn, r *Round) error {
	if r == nil {
		return nil
	}
	return put(ctx, tx, "INSERT", "rounds", r.RoundStart, r.Window, int64(r.Known), int64(r.Ranked), int64(r.InGroup),
		int64(r.Selected), int64(r.New), int64(r.Released), int64(r.Refused), r.BoundaryBytesPerS, r.Note, string(r.SelectionJSON))
}

// Rounds gives the last n rounds, newest first.
func (s *Store) Rounds(ctx context.Context, n int) (rounds []Round, err error) {
	err = each(ctx, s.read, "rounds", "rounds ORDER BY round_start DESC LIMIT ?", []any{n}, func(row []any) error {
		rounds = append(rounds, roundOf(row))
		return nil
	})
	return rounds, explain(s.path, "read rounds", err)
}

func roundOf(row []any) Round {
	n := func(i int) int { return int(row[i].(int64)) }
	return Round{
		RoundStart: row[0].(int64), Window: row[1].(int64),
		Known: n(2), Ranked: n(3), InGroup: n(4), Selected: n(5), New: n(6), Released: n(7), Refused: n(8),
		BoundaryBytesPerS: row[9].(float64), Note: row[10].(string), SelectionJSON: []byte(row[11].(string)),
	}
}
