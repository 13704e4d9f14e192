//go:build !small

package policy

import "github.com/congctl/congctl/internal/tcp/record"

// What the dashboard asks of many prefixes, which the small build does not have.

// RowsAfter fills rows with the tracked prefixes after p in the order of prefixes, as of the last round, and returns how
// many there are; 0 is before all.
func (e *Engine) RowsAfter(p record.Prefix, rows []Row) int {
	t, at := e.find(p)
	if t != nil {
		at++
	}
	n := min(len(rows), len(e.tracks)-at)
	for i := range n {
		rows[i] = e.row(e.tracks[at+i])
	}
	return n
}

// Recent returns a prefix's performance in each of the last n windows, bytes/s, oldest first; 0 where it is not known,
// and nil for a prefix that is not tracked.
func (e *Engine) Recent(p record.Prefix, n int) []float32 {
	t, _ := e.find(p)
	if t == nil {
		return nil
	}
	out := make([]float32, n)
	for _, h := range t.history {
		if age := int(h.age(e.now)); age < n {
			out[n-1-age] = h.perf
		}
	}
	return out
}
