package sqlite

import (
	"context"
	"database/sql"
)

// pruneBatch bounds the rows of one delete: about 0.1 s of write lock, so that
// a commit or an operator's "stop" never waits long behind a cleaning.
const pruneBatch = 20_000

// Prune deletes what is older than b, in batches with a transaction each: it may be
// stopped at any time and continues at the next call. The plan with the highest serial
// always stays. Freed pages are reused; the file does not shrink.
func (s *Store) Prune(ctx context.Context, b Before) error {
	if s.write == nil {
		return s.refuseWrite("prune")
	}
	before, err := s.within(ctx, b.Windows, b.Span, "window_heads", "start")
	if err == nil {
		err = s.pruneWindows(ctx, before)
	}
	for _, t := range []struct {
		before               int64
		table, key, at, stay string
	}{
		{b.Rounds, "rounds", "round_start", "round_start", ""},
		{b.Events, "events", "id", "at", ""},
		{b.Plans, "plans", "serial", "created", " AND serial < (SELECT max(serial) FROM plans)"},
	} {
		if err == nil {
			before, err = s.within(ctx, t.before, b.Span, t.table, t.at)
		}
		if err == nil {
			err = s.pruneTable(ctx, before, t.table, t.key, t.at+" < ?"+t.stay)
		}
	}
	return explain(s.path, "prune", err)
}

// within holds before down to what is at most span older than the oldest.
func (s *Store) within(ctx context.Context, before, span int64, table, at string) (int64, error) {
	if span == 0 {
		return before, nil
	}
	var oldest sql.NullInt64
	err := s.read.QueryRowContext(ctx, "SELECT min("+at+") FROM "+table).Scan(&oldest)
	if !oldest.Valid {
		return before, err
	}
	return min(before, oldest.Int64+span), err
}

func (s *Store) pruneTable(ctx context.Context, before int64, table, key, where string) error {
	query := "DELETE FROM " + table + " WHERE " + key + " IN (SELECT " + key + " FROM " + table + " WHERE " + where + " LIMIT ?)"
	for {
		r, err := s.write.ExecContext(ctx, query, before, pruneBatch)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return err
		}
	}
}

func (s *Store) pruneWindows(ctx context.Context, before int64) error {
	heads, err := headsIn(ctx, s.read, 0, before)
	for err == nil && len(heads) > 0 {
		batch := firstWindows(heads)
		err = s.inTx(ctx, func(tx *sql.Tx) error { return dropWindows(ctx, tx, batch) })
		heads = heads[len(batch):]
	}
	return err
}

// firstWindows returns the oldest windows that make one batch: whole ones, at least one.
func firstWindows(heads []Head) []Head {
	rows := heads[0].Rows
	for i, h := range heads[1:] {
		if rows += h.Rows; rows > pruneBatch {
			return heads[:i+1]
		}
	}
	return heads
}

func dropWindows(ctx context.Context, tx *sql.Tx, heads []Head) error {
	first, last := heads[0].Start, heads[len(heads)-1].Start
	for _, table := range []string{"windows", "window_heads"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE start BETWEEN ? AND ?", first, last); err != nil {
			return err
		}
	}
	return nil
}

// thinAtOnce windows are dropped in one call at most, so that a store of 40 GB does not hold up
// the rounds; as one comes in a round, two make it smaller.
const thinAtOnce = 2

// Thin drops the oldest windows, whatever the clock says, while the store holds more than so
// many bytes, but never one of the newest keep. It returns the bytes in use after that. Freed
// pages are reused; the file does not shrink.
func (s *Store) Thin(ctx context.Context, most int64, keep int) (used int64, err error) {
	if s.write == nil {
		return 0, s.refuseWrite("thin")
	}
	for range thinAtOnce {
		if used, err = s.used(ctx); err != nil || used <= most {
			break
		}
		var oldest []Head
		oldest, err = list(ctx, s.read, "window_heads", "ORDER BY start DESC LIMIT 1 OFFSET ?", []any{keep}, headOfRow)
		if err != nil || len(oldest) == 0 {
			break
		}
		oldest, err = list(ctx, s.read, "window_heads", "ORDER BY start LIMIT 1", nil, headOfRow)
		if err == nil {
			err = s.inTx(ctx, func(tx *sql.Tx) error { return dropWindows(ctx, tx, oldest) })
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		used, err = s.used(ctx)
	}
	return used, explain(s.path, "thin", err)
}

// used is the bytes of the pages that hold something.
func (s *Store) used(ctx context.Context) (n int64, err error) {
	err = s.write.QueryRowContext(ctx, "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size").Scan(&n)
	return n, err
}
