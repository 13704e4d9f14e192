package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Conns calls fn for each record of a PoP and window (its start, Unix seconds), in the order of
// (boot id, sequence, index in the batch), each once, with its host. The Conn is used again for
// the next one. It returns errors of fn unchanged.
func (s *Store) Conns(ctx context.Context, pop string, window int64, fn func(host string, c *record.Conn) error) error {
	r := &row{}
	return s.conns(ctx, r, r.columns(), pop, window, fn)
}

// Counted is Conns with only what [window.Aggregator] looks at, a quarter of the columns; the rest of
// the Conn is zero.
func (s *Store) Counted(ctx context.Context, pop string, window int64, fn func(host string, c *record.Conn) error) error {
	r := &row{}
	columns := slices.DeleteFunc(r.columns(), func(c column) bool { return !slices.Contains(counted, c.name()) })
	return s.conns(ctx, r, columns, pop, window, fn)
}

// counted are the columns that rows of windows are made of, and those that tell a repeat. What is
// missing here TestSameWindowRows finds.
var counted = strings.Fields(`host boot_id sequence in_batch netns cookie window prefix remote
	client passive client_facing cong default_cong assigned applied carryover capped weight crossed_ns
	win_bytes_acked win_bytes_sent win_bytes_retrans win_elapsed_us win_busy_us win_rwnd_limited_us
	win_counted_bytes_acked win_counted_bytes_sent win_counted_bytes_retrans win_counted_busy_us
	win_rate_samples win_limited_samples win_episodes win_late_samples
	rate_bytes_per_s rate_source late_bytes_per_s info_min_rtt_us info_rtt_us`)

func (s *Store) conns(ctx context.Context, r *row, columns []column, pop string, window int64, fn func(host string, c *record.Conn) error) error {
	var last recordName
	return s.read(ctx, records, "pop = ? AND window = ? ORDER BY boot_id, sequence, in_batch", columns, func() error {
		name := recordName{r.name.boot, r.name.sequence, r.inBatch}
		if name == last {
			return nil // a repeat that is not merged yet; see the package's comment
		}
		last = name
		return fn(r.name.host, &r.conn)
	}, pop, window)
}

// recordName names a record among those of one PoP and window.
type recordName struct {
	boot     string
	sequence uint64
	inBatch  uint32
}

// Ends calls fn for each end of a window that hosts of a PoP have sent, from a window's start
// (Unix seconds) on, in the order of (start, boot id, sequence), each once. h has no Ends of its own.
func (s *Store) Ends(ctx context.Context, pop string, from int64, fn func(h *wire.Header, e *wire.WindowEnd) error) error {
	r := &endRow{}
	var last recordName
	var lastStart int64
	return s.read(ctx, "window_ends", "pop = ? AND start >= ? ORDER BY start, boot_id, sequence", r.columns(), func() error {
		name := recordName{boot: r.name.boot, sequence: r.name.sequence}
		if name == last && r.end.Start == lastStart {
			return nil
		}
		last, lastStart = name, r.end.Start
		h := wire.Header{Host: r.name.host, PoP: r.name.pop, Sequence: r.name.sequence}
		copy(h.Boot[:], r.name.boot)
		return fn(&h, &r.end)
	}, pop, from)
}

// read calls fn for each row, whose columns are filled then.
func (s *Store) read(ctx context.Context, table, where string, columns []column, fn func() error, args ...any) error {
	ctx, done := context.WithTimeout(ctx, queryTime)
	defer done()
	rows, err := s.conn.Query(ctx, "SELECT "+names(columns)+" FROM "+table+" WHERE "+where, args...)
	if err != nil {
		return fmt.Errorf("read %s: %w", table, err)
	}
	defer rows.Close()
	var into []any
	for _, c := range columns {
		into = append(into, c.into())
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("read %s: %w", table, err)
		}
		for _, c := range columns {
			if err := c.take(); err != nil {
				return fmt.Errorf("read %s: %w", table, err)
			}
		}
		if err := fn(); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read %s: %w", table, err)
	}
	return nil
}
