package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Writer collects batches and inserts them at once. Not safe for concurrent use; several writers
// may insert the same.
type Writer struct {
	store *Store
	conns waiting[row]
	ends  waiting[endRow]
	keep  time.Duration
	now   func() time.Time
}

// aheadTime is how far in the future a window may begin: clocks of hosts differ, and one that is
// an hour wrong is out of order.
const aheadTime = time.Hour

// NewWriter returns a writer that refuses records older than keep, the retention, and those of the
// future: each day is a partition, and one host with a wrong clock could make thousands. With
// keep 0 it takes all.
func (s *Store) NewWriter(keep time.Duration) *Writer {
	return &Writer{s, newWaiting(records, (*row).stored), newWaiting("window_ends", (*endRow).columns), keep, time.Now}
}

// Add decodes one message Batch and keeps its records, and the ends of windows that it has, for the
// next Insert. On an error, which says what is wrong with the batch, it keeps none of it.
func (w *Writer) Add(batch []byte) error {
	conns, ends := w.conns.rows(), w.ends.rows()
	err := w.add(batch)
	if err != nil {
		w.conns.cut(conns)
		w.ends.cut(ends)
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
	name, span := batchName{h.PoP, h.Host, string(h.Boot[:]), h.Sequence}, w.span()
	for _, e := range h.Ends {
		if err := span.holds(e.Start); err != nil {
			return err
		}
		*w.ends.next() = endRow{name, e}
	}
	inBatch := uint32(0)
	return wire.DecodeBatch(batch, func(_ *wire.Header, c *record.Conn) error {
		if err := span.holds(c.Window); err != nil {
			return err
		}
		r := w.conns.next()
		r.name, r.inBatch, r.conn = name, inBatch, *c // not as one value, which would be copied once more
		inBatch++
		return nil
	})
}

// ErrOutside is in the error about a batch of another time.
var ErrOutside = errors.New("too old to keep, or a clock is wrong")

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
		return fmt.Errorf("decode batch: window %d is outside of %d to %d: %w", window, s.from, s.until, ErrOutside)
	}
	return nil
}

// Rows is how many records and ends of windows wait for Insert.
func (w *Writer) Rows() int { return w.conns.rows() + w.ends.rows() }

// Insert inserts what all batches since the last Insert had, and forgets it. After an error some of
// it may be in the tables; all waits for the next Insert, and what comes twice does no harm.
// Ends come after the records: who sees that a window ended sees the window.
func (w *Writer) Insert(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, queryTime)
	defer done()
	if err := w.conns.insert(ctx, w.store.conn); err != nil {
		return err
	}
	if err := w.ends.insert(ctx, w.store.conn); err != nil {
		return err
	}
	w.conns.cut(0)
	w.ends.cut(0)
	return nil
}
