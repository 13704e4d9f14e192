package window

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

func hostile(i int, edit func(i int, c *record.Conn)) *record.Conn {
	c := &record.Conn{Cookie: record.Cookie(i), Prefix: 0xcb007100 | 24, Passive: true, ClientFacing: true, DefaultCong: true, Cong: "cubic", WinBytesAcked: 100_000, RateBytesPerS: 1, RateSource: record.RateMean}
	edit(i, c)
	return c
}

// TestRowsAreFew: whatever 80,000 records say of themselves, they are a few rows, and what is in none is counted.
func TestRowsAreFew(t *testing.T) {
	const n, prefixes = 80_000, 100
	kinds := make([]string, n)
	for i := range kinds {
		kinds[i] = fmt.Sprintf("c%d", i)
	}
	for name, c := range map[string]struct {
		most int // rows while the windows are open
		edit func(i int, c *record.Conn)
	}{
		"each its own cong": {MaxCongs, func(i int, c *record.Conn) { c.Cong = kinds[i] }},
		"each its own cong, and all arms and marks": {5 * 2 * 2 * 2 * MaxCongs, func(i int, c *record.Conn) {
			c.Cong = kinds[i/40%(MaxCongs+1)]
			c.Assigned, c.Carryover, c.DefaultCong, c.Capped = record.Arm(i%5), i/5%2 == 1, i/10%2 == 1, i/20%2 == 1
		}},
		"more networks than there is room for, each with many": {maxRowsEach * prefixes, func(i int, c *record.Conn) {
			c.Prefix = record.Prefix(i/40<<8 | 24)
			c.Cong = kinds[i%MaxCongs]
			c.Assigned, c.Carryover = record.Arm(i/MaxCongs%5), false
		}},
		"half of them in a window that ends": {2 * MaxCongs, func(i int, c *record.Conn) { c.Cong, c.Window = kinds[i], int64(i%2)*300 }},
	} {
		a := aggregatorOf(Config{MaxPrefixes: prefixes})
		most := 0
		bytes := allocated(func() {
			for i := range n {
				a.Add(hostile(i, c.edit))
				most = max(most, a.rows)
			}
		})
		walked := 0
		for _, p := range a.panes {
			for _, r := range p.rows {
				for ; r != nil; r = r.next {
					walked++
				}
			}
		}
		if walked != a.rows {
			t.Errorf("%s: %d rows counted, %d there", name, a.rows, walked)
		}
		rows, st := a.Flush(300)
		conns := st.LeftOut.EvictedConns + st.Crowded
		for _, r := range rows {
			conns += uint64(r.Conns)
		}
		if most > c.most || len(rows) > most || conns != n || st.Crowded == 0 || a.rows != 0 || a.prefixes != 0 {
			t.Errorf("%s: %d rows while open, at most %d; %d at the end, of %d records, %+v; %d rows and %d networks are left", name, most, c.most, len(rows), conns, st, a.rows, a.prefixes)
		}
		t.Logf("%s: %d rows while open, %d at the end, %d kB allocated, %d crowded", name, most, len(rows), bytes>>10, st.Crowded)
		// A sample of 28 bytes, with room to grow, and the record that the test makes.
		if limit := uint64(n * 1200); bytes > limit {
			t.Errorf("%s: %d bytes allocated, at most %d", name, bytes, limit)
		}
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
