package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Heads returns the windows that start in [from, to), oldest first.
func (s *Store) Heads(ctx context.Context, from, to int64) ([]Head, error) {
	heads, err := headsIn(ctx, s.read, from, to)
	return heads, explain(s.path, "read window heads", err)
}

func headsIn(ctx context.Context, c conn, from, to int64) ([]Head, error) {
	return list(ctx, c, "window_heads", "WHERE start >= ? AND start < ? ORDER BY start", []any{from, to}, headOfRow)
}

func headOfRow(r []any) Head {
	return Head{Start: r[0].(int64), Rows: int(r[1].(int64)), Note: r[2].(string)}
}

// LastWindow returns the start of the newest window; ok is false in an empty store.
func (s *Store) LastWindow(ctx context.Context) (start int64, ok bool, err error) {
	var v sql.NullInt64
	err = s.read.QueryRowContext(ctx, "SELECT max(start) FROM window_heads").Scan(&v)
	return v.Int64, v.Valid, explain(s.path, "read last window", err)
}

// Windows calls row for each row of the windows that start in [from, to), by window, then
// prefix (IPv4 first, then IPv6 by address, but 8000::/1, which holds unique local
// addresses, before both), then arm. It reuses the Window for the next row. It sees one
// commit's state, whatever is written meanwhile.
//
// A window that lacks rows returns [ErrDamaged], after its last row was handed out.
func (s *Store) Windows(ctx context.Context, from, to int64, row func(*record.Window) error) (err error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(s.path, "read windows", err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	heads, err := headsIn(ctx, tx, from, to)
	if err != nil {
		return explain(s.path, "read windows", err)
	}
	count := counter{heads: heads}
	var w record.Window
	err = each(ctx, tx, "windows", "WHERE start >= ? AND start < ? ORDER BY start, prefix, arm, cong, carryover, control, capped", []any{from, to},
		func(r []any) error {
			setWindow(&w, r)
			if err := count.saw(&w); err != nil {
				return err
			}
			return row(&w)
		})
	if err == nil {
		err = count.end()
	}
	return explain(s.path, "read windows", err)
}

// counter compares the rows of a scan with the heads: otherwise a page that lost rows
// without breaking the tree would go unseen. So would, but for the order of the keys, a
// page in another's place with as many rows.
type counter struct {
	heads []Head
	seen  int
	last  record.Window // its key
}

func (c *counter) saw(w *record.Window) error {
	start := w.Start
	for len(c.heads) > 0 && c.heads[0].Start < start {
		if err := c.leave(); err != nil {
			return err
		}
	}
	if len(c.heads) == 0 || c.heads[0].Start != start {
		return fmt.Errorf("window %d: %w: it has rows and no head; %s", start, ErrDamaged, damagedHint)
	}
	if c.seen > 0 && compareKeys(&c.last, w) >= 0 {
		return fmt.Errorf("window %d: %w: its rows are out of order; %s", start, ErrDamaged, damagedHint)
	}
	c.seen++
	c.last = *w
	return nil
}

// compareKeys orders rows of one window as the table does.
func compareKeys(a, b *record.Window) int {
	return cmp.Or(cmp.Compare(int64(a.Prefix), int64(b.Prefix)), cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Cong, b.Cong),
		cmp.Compare(flag(a.Carryover), flag(b.Carryover)), cmp.Compare(flag(a.Control), flag(b.Control)),
		cmp.Compare(flag(a.Capped), flag(b.Capped)))
}

func (c *counter) end() error {
	for len(c.heads) > 0 {
		if err := c.leave(); err != nil {
			return err
		}
	}
	return nil
}

func (c *counter) leave() error {
	h, seen := c.heads[0], c.seen
	c.heads, c.seen = c.heads[1:], 0
	if seen != h.Rows {
		return fmt.Errorf("window %d: %w: %d rows of %d; %s", h.Start, ErrDamaged, seen, h.Rows, damagedHint)
	}
	return nil
}

// windowColumns of a row, its sum included.
const windowColumns = 34

// appendWindow appends the columns of w and their sum.
func appendWindow(dst []any, w *record.Window) []any {
	from := len(dst)
	dst = append(dst, w.Start, int64(w.Prefix), int64(w.Arm), w.Cong, flag(w.Carryover), flag(w.Control), flag(w.Washout),
		int64(w.Conns), int64(w.Eligible), int64(w.RateMeans), int64(w.Bytes))
	for _, r := range w.RateBytesPerS {
		dst = append(dst, r)
	}
	dst = append(dst, w.MinRTTUs, w.SRTTUs, w.RetransShare, w.RwndShare, w.BusyShare, w.AppLimitedShare,
		w.LogRateMean, w.LogRateVar, int64(w.EligibleSentBytes), int64(w.EligibleRetransBytes),
		flag(w.Capped), w.LogGoodputMean, w.LogGoodputVar, int64(w.Episodes), int64(w.LateConns), w.LateBytesPerS[0], w.LateBytesPerS[1])
	return append(dst, sumOf("windows", dst[from:]))
}

func setWindow(w *record.Window, r []any) {
	n := func(i int) int64 { return r[i].(int64) }
	f := func(i int) float64 { return r[i].(float64) }
	*w = record.Window{
		Start: n(0), Prefix: record.Prefix(n(1)), Arm: record.Arm(n(2)), Cong: r[3].(string),
		Carryover: n(4) != 0, Control: n(5) != 0, Washout: n(6) != 0,
		Conns: uint32(n(7)), Eligible: uint32(n(8)), RateMeans: uint32(n(9)), Bytes: uint64(n(10)),
		RateBytesPerS: [5]float64{f(11), f(12), f(13), f(14), f(15)}, MinRTTUs: f(16), SRTTUs: f(17),
		RetransShare: f(18), RwndShare: f(19), BusyShare: f(20), AppLimitedShare: f(21),
		LogRateMean: f(22), LogRateVar: f(23), EligibleSentBytes: uint64(n(24)), EligibleRetransBytes: uint64(n(25)),
		Capped: n(26) != 0, LogGoodputMean: f(27), LogGoodputVar: f(28), Episodes: uint64(n(29)), LateConns: uint32(n(30)), LateBytesPerS: [2]float64{f(31), f(32)},
	}
}

// checkWindow refuses what could not be read back: SQLite has no NaN.
func checkWindow(w *record.Window, start int64) error {
	if w.Start != start {
		return fmt.Errorf("field Start: row of %s has %d, the window is %d", w.Prefix, w.Start, start)
	}
	if !w.Prefix.Valid() {
		return fmt.Errorf("field Prefix: %s; take it from record.PrefixOf", w.Prefix)
	}
	values := append(w.RateBytesPerS[:], w.MinRTTUs, w.SRTTUs, w.RetransShare, w.RwndShare, w.BusyShare, w.AppLimitedShare,
		w.LogRateMean, w.LogRateVar, w.LogGoodputMean, w.LogGoodputVar, w.LateBytesPerS[0], w.LateBytesPerS[1])
	for i, v := range values {
		if math.IsNaN(v) {
			return fmt.Errorf("field %s: NaN in the row of %s; leave it 0 where nothing was measured", realFields[i], w.Prefix)
		}
	}
	return nil
}

var realFields = [...]string{"RateBytesPerS[Q05]", "RateBytesPerS[Q10]", "RateBytesPerS[Q20]", "RateBytesPerS[Q50]",
	"RateBytesPerS[Q80]", "MinRTTUs", "SRTTUs", "RetransShare", "RwndShare", "BusyShare", "AppLimitedShare",
	"LogRateMean", "LogRateVar", "LogGoodputMean", "LogGoodputVar", "LateBytesPerS[0]", "LateBytesPerS[1]"}
