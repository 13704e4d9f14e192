package sqlite

import (
	"context"
	"database/sql"
)

// Before says, in Unix seconds, from when on each table is kept; 0 keeps all.
type Before struct{ Windows, Rounds, Events, Plans int64 }

// Pruned counts what was deleted.
type Pruned struct{ Windows, WindowRows, Rounds, Events, Plans int64 }

// pruneBatch bounds the rows of one delete: about 0.1 s of write lock, so that
// a commit or an operator's "stop" never waits long behind a cleaning.
const pruneBatch = 20_000

// Prune deletes what is older than b, in batches of their own transactions: it
// may be stopped at any time and goes on at the next call. The plan with the
// highest serial always stays. Freed pages are used again; the file does not shrink.
func (s *Store) Prune(ctx context.Context, b Before) (done Pruned, err error) {
	if s.write == nil {
		return done, s.refuseWrite("prune")
	}
	if err = s.pruneWindows(ctx, b.Windows, &done); err == nil {
		done.Rounds, err = s.pruneTable(ctx, b.Rounds, "rounds", "round_start", "round_start < ?")
	}
	if err == nil {
		done.Events, err = s.pruneTable(ctx, b.Events, "events", "id", "at < ?")
	}
	if err == nil {
		done.Plans, err = s.pruneTable(ctx, b.Plans, "plans", "serial", "created < ? AND serial < (SELECT max(serial) FROM plans)")
	}
	return done, explain(s.path, "prune", err)
}

func (s *Store) pruneTable(ctx context.Context, before int64, table, key, where string) (total int64, err error) {
	query := "DELETE FROM " + table + " WHERE " + key + " IN (SELECT " + key + " FROM " + table + " WHERE " + where + " LIMIT ?)"
	for n := int64(1); err == nil && n > 0; total += n {
		n, err = affected(s.write.ExecContext(ctx, query, before, pruneBatch))
	}
	return total, err
}

func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (s *Store) pruneWindows(ctx context.Context, before int64, done *Pruned) error {
	heads, err := headsIn(ctx, s.read, 0, before)
	for err == nil && len(heads) > 0 {
		batch := firstWindows(heads)
		err = s.inTx(ctx, func(tx *sql.Tx) error { return dropWindows(ctx, tx, batch, done) })
		heads = heads[len(batch):]
	}
	return err
}

// firstWindows gives the oldest windows that make one batch: whole ones, at least one.
func firstWindows(heads []Head) []Head {
	rows := heads[0].Rows
	for i, h := range heads[1:] {
		if rows += h.Rows; rows > pruneBatch {
			return heads[:i+1]
		}
	}
	return heads
}

func dropWindows(ctx context.Context, tx *sql.Tx, heads []Head, done *Pruned) error {
	first, last := heads[0].Start, heads[len(heads)-1].Start
	rows, err := affected(tx.ExecContext(ctx, "DELETE FROM windows WHERE start BETWEEN ? AND ?", first, last))
	if err != nil {
		return err
	}
	n, err := affected(tx.ExecContext(ctx, "DELETE FROM window_heads WHERE start BETWEEN ? AND ?", first, last))
	done.WindowRows += rows
	done.Windows += n
	return err
}
