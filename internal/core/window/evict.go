package window

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// evictShare: a sixteenth of the places is cleared at once, so that the sort of
// 200,000 prefixes (some 30 ms) is paid once for 12,500 newcomers.
const evictShare = 16

type weight struct {
	bytes  uint64
	prefix record.Prefix
}

// evict takes the prefixes with the fewest bytes so far (the lower number first
// among equals) out of the fullest window: a flood of addresses that send one
// small response each pushes out only its own kind. Of the fullest window, because
// in a window that has just begun everyone has few.
func (a *Aggregator) evict() {
	p := a.fullest()
	ws := make([]weight, 0, len(p.rows))
	for prefix, r := range p.rows {
		w := weight{prefix: prefix}
		for ; r != nil; r = r.next {
			w.bytes += r.bytes
		}
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(a, b weight) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.prefix, b.prefix))
	})
	for _, w := range ws[:min(len(ws), max(1, a.cfg.MaxPrefixes/evictShare))] {
		a.st.EvictedPrefixes++
		a.st.EvictedBytes += w.bytes
		for r := p.rows[w.prefix]; r != nil; r = r.next {
			a.st.EvictedConns += uint64(r.conns)
			p.samples.total -= len(r.samples)
		}
		delete(p.rows, w.prefix)
		a.prefixes--
	}
}

func (a *Aggregator) fullest() *pane {
	var best *pane
	for _, p := range a.panes {
		if best == nil || len(p.rows) > len(best.rows) || len(p.rows) == len(best.rows) && p.start < best.start {
			best = p
		}
	}
	return best
}
