package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/tcp/record"
)

// rowsPerInsert: 8 rows a statement cost 5.6 us a row, 1 costs 8.8 us, and 32
// or 128 cost the same or more (20,000 rows a commit, 2 cores).
const rowsPerInsert = 8

// CommitRound writes c in one transaction. A window that is already closed in the store,
// or a key that occurs twice, is [ErrExists]; a full disk is [ErrFull]. After an error
// nothing of c is in the store.
func (s *Store) CommitRound(ctx context.Context, c *Commit) error {
	return s.CommitAfter(ctx, c, func() error { return nil })
}

// CommitAfter is CommitRound once first, which it calls when c can be written, has returned nil. After an
// error of the disk in the very last step c is not in the store, though first has returned nil.
func (s *Store) CommitAfter(ctx context.Context, c *Commit, first func() error) error {
	if s.write == nil {
		return s.refuseWrite("commit round")
	}
	err := errors.Join(checkCommit(c), s.InPlace())
	s.chain.Lock()
	defer s.chain.Unlock()
	var end link
	if err == nil {
		err = s.inTxOn(ctx, func(on *sql.Conn, tx *sql.Tx) (err error) {
			if err = apply(ctx, c, on, tx); err == nil {
				end, err = putLink(ctx, tx, c)
			}
			if err == nil {
				err = first()
			}
			return err
		})
	}
	if err == nil {
		s.follow(end)
	}
	return explain(s.path, "commit round", err)
}

func (s *Store) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	return s.inTxOn(ctx, func(_ *sql.Conn, tx *sql.Tx) error { return do(tx) })
}

// inTxOn also lends the transaction's connection.
func (s *Store) inTxOn(ctx context.Context, do func(*sql.Conn, *sql.Tx) error) (err error) {
	on, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	tx, err := on.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(on, tx); err != nil {
		// Often rolled back already: by SQLite (a full disk) or by the end of ctx.
		// Either way nothing is left, and err is the cause.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func checkCommit(c *Commit) error {
	if !c.Closed && len(c.Rows) > 0 {
		return fmt.Errorf("field Closed: false with %d rows; rows belong to a window that closes", len(c.Rows))
	}
	for i := range c.Rows {
		if err := checkWindow(&c.Rows[i], c.Start); err != nil {
			return err
		}
	}
	if c.Round != nil && math.IsNaN(c.Round.BoundaryBytesPerS) {
		return errors.New("field Round.BoundaryBytesPerS: NaN; leave it 0 where there is no boundary")
	}
	return nil
}

func apply(ctx context.Context, c *Commit, on *sql.Conn, tx conn) error {
	steps := []func() error{
		func() error { return putWindow(ctx, c, on, tx) },
		func() error { return putNotes(ctx, tx, c.Notes) },
		func() error { return putRound(ctx, tx, c.Round) },
		func() error { return putEvents(ctx, tx, c.Events) },
		func() error { return putPlan(ctx, tx, c.Plan) },
		func() error { return putSettings(ctx, tx, c.Settings) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func putWindow(ctx context.Context, c *Commit, on *sql.Conn, tx conn) error {
	if !c.Closed {
		return nil
	}
	old, err := headOf(ctx, tx, c.Start)
	if err != nil {
		return err
	}
	if old != nil && (old.Rows > 0 || old.Note == "") {
		return fmt.Errorf("close window %d: %w with %d rows; a window closes once", c.Start, ErrExists, old.Rows)
	}
	head := Head{Start: c.Start, Rows: len(c.Rows)}
	if old != nil {
		head.Note = old.Note // marked while it was open
	}
	if err := putHead(ctx, tx, head); err != nil {
		return err
	}
	return putRows(ctx, on, c.Rows)
}

// putRows gives rows to the driver itself: database/sql would check and copy each of 34 values, and take a quarter of the time.
func putRows(ctx context.Context, on *sql.Conn, rows []record.Window) error {
	many := len(rows) / rowsPerInsert * rowsPerInsert
	return on.Raw(func(c any) error {
		if err := putRowsBy(ctx, c.(driver.ConnPrepareContext), rows[:many], rowsPerInsert); err != nil {
			return err
		}
		return putRowsBy(ctx, c.(driver.ConnPrepareContext), rows[many:], 1)
	})
}

func putRowsBy(ctx context.Context, c driver.ConnPrepareContext, rows []record.Window, n int) (err error) {
	insert, err := c.PrepareContext(ctx, "INSERT INTO windows VALUES "+slots(windowColumns, n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	values, args := make([]any, 0, n*windowColumns), make([]driver.NamedValue, n*windowColumns)
	for ; len(rows) > 0; rows = rows[n:] {
		values = values[:0]
		for i := range rows[:n] {
			values = appendWindow(values, &rows[i])
		}
		for i, v := range values {
			args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
		}
		// A statement that ctx can interrupt has a goroutine of its own; this one takes 50 us.
		_, err := insert.(driver.StmtExecContext).ExecContext(context.WithoutCancel(ctx), args)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

func headOf(ctx context.Context, tx conn, start int64) (*Head, error) {
	heads, err := headsIn(ctx, tx, start, start+1)
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	return &heads[0], nil
}

func putHead(ctx context.Context, tx conn, h Head) error {
	return put(ctx, tx, "REPLACE", "window_heads", h.Start, int64(h.Rows), h.Note)
}

// putNotes adds reasons to windows, closed or not; a reason is kept once.
func putNotes(ctx context.Context, tx conn, notes []record.WindowNote) error {
	for _, n := range notes {
		h, err := headOf(ctx, tx, n.Start)
		if err != nil {
			return err
		}
		if h == nil {
			h = &Head{Start: n.Start}
		}
		if slices.Contains(strings.Split(h.Note, "; "), n.Reason) {
			continue
		}
		h.Note = strings.TrimPrefix(h.Note+"; "+n.Reason, "; ")
		if err := putHead(ctx, tx, *h); err != nil {
			return err
		}
	}
	return nil
}
