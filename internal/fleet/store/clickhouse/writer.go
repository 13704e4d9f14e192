package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Writer collects batches and inserts them at once. Not safe for concurrent use; several writers
// may insert the same.
type Writer struct {
	store      *Store
	row        *row
	endRow     *endRow
	rows, ends int
	keep       time.Duration
	now        func() time.Time
}

// aheadTime is how far in the future a window may begin: clocks of hosts differ, and one that is
// an hour wrong is out of order.
const aheadTime = time.Hour

// NewWriter returns a writer that refuses records older than keep, the retention, and those of the
// future: each day is a partition, and one host with a wrong clock could make thousands. With
// keep 0 it takes all.
func (s *Store) NewWriter(keep time.Duration) *Writer {
	return &Writer{store: s, row: newRow(), endRow: newEndRow(), keep: keep, now: time.Now}
}

// Add decodes one message Batch and keeps its records, and the ends of windows that it has, for the
// next Insert. On an error, which says what is wrong with the batch, it keeps none of it.
func (w *Writer) Add(batch []byte) error {
	rows, ends := w.rows, w.ends
	err := w.add(batch)
	if err != nil {
		w.cut(rows, ends)
	}
	return err
}

func (w *Writer) add(batch []byte) error {
	h, err := wire.DecodeHeader(batch)
	if err != nil {
		return err
	}
	if h.PoP == "" || h.Boot == (record.BootID{}) || h.Sequence == 0 {
		return errors.New("decode batch: it lacks its pop, boot_id or sequence, so that a repeat could not be told")
	}
	w.row.name = batchName{h.PoP, h.Host, string(h.Boot[:]), h.Sequence}
	w.endRow.name, w.row.inBatch = w.row.name, 0
	span := w.span()
	for _, e := range h.Ends {
		if err := span.holds(e.Start); err != nil {
			return err
		}
		w.endRow.end = e
		keep(w.endRow.columns)
		w.ends++
	}
	return wire.DecodeBatch(batch, func(_ *wire.Header, c *record.Conn) error {
		if err := span.holds(c.Window); err != nil {
			return err
		}
		w.row.conn = *c
		keep(w.row.columns)
		w.rows++
		w.row.inBatch++
		return nil
	})
}

// span is which windows are taken, Unix seconds.
type span struct{ from, until int64 }

func (w *Writer) span() span {
	if w.keep <= 0 {
		return span{math.MinInt64, math.MaxInt64}
	}
	now := w.now()
	return span{now.Add(-w.keep).Unix(), now.Add(aheadTime).Unix()}
}

func (s span) holds(window int64) error {
	if window < s.from || window > s.until {
		return fmt.Errorf("decode batch: window %d is outside of %d to %d: too old to keep, or a clock is wrong", window, s.from, s.until)
	}
	return nil
}

func keep(columns []column) {
	for _, c := range columns {
		c.keep()
	}
}

func (w *Writer) cut(rows, ends int) {
	for _, c := range w.row.columns {
		c.cut(rows)
	}
	for _, c := range w.endRow.columns {
		c.cut(ends)
	}
	w.rows, w.ends = rows, ends
}

// Rows is how many records and ends of windows wait for Insert.
func (w *Writer) Rows() int { return w.rows + w.ends }

// Insert inserts what all batches since the last Insert had, and forgets it. After an error some of
// it may be in the tables; all waits for the next Insert, and what comes twice does no harm.
// Ends come after the records: who sees that a window ended sees the window.
func (w *Writer) Insert(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, queryTime)
	defer done()
	if w.rows > 0 {
		if err := w.store.insert(ctx, "conns", w.row.columns); err != nil {
			return err
		}
	}
	if w.ends > 0 {
		if err := w.store.insert(ctx, "window_ends", w.endRow.columns); err != nil {
			return err
		}
	}
	w.cut(0, 0)
	return nil
}

func (s *Store) insert(ctx context.Context, table string, columns []column) error {
	b, err := s.conn.PrepareBatch(ctx, "INSERT INTO "+table+" ("+names(columns)+")")
	if err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	defer b.Close()
	for i, c := range columns {
		if err := b.Column(i).Append(c.values()); err != nil {
			return fmt.Errorf("insert into %s: column %s: %w", table, c.name(), err)
		}
	}
	if err := b.Send(); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}

// names lists columns for a statement.
func names(columns []column) string {
	var list []string
	for _, c := range columns {
		list = append(list, "`"+c.name()+"`")
	}
	return strings.Join(list, ", ")
}
