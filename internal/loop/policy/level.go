package policy

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Level: how fast a prefix is under the default congestion control, and whether it is
// among the slowest.
//
//	performance = median of the window's eligible control connections; with fewer
//	              than MinSamples, sum(n m) / sum(n) over this and earlier windows
//	              of the lookback, newest first and each taken whole, until there
//	              are enough; unknown if there never are
//	boundary    = type-7 quantile GroupShare of the performances that are ranked,
//	              weighted so that no site outvotes the others
//	in the group = performance <= boundary
//
// A selected prefix has few control rows. Without it, each selection would raise the
// boundary and push the next prefixes in: a ratchet (17 % higher after three simulated
// days). So it is ranked by its last known control performance as long as it is in use.

// level is a prefix's performance in one window.
type level struct {
	perf          float64 // bytes/s
	own, borrowed uint32  // eligible control connections
	known         bool
}

func (t *track) level(now uint32, r Rules) (l level) {
	var m stat.Mean
	for back := range uint32(r.lookback()) {
		s := t.at(now - back)
		if s == nil || s.eligible == 0 {
			continue
		}
		m.Add(s.median, float64(s.eligible))
		if back == 0 {
			l.own = s.eligible
		} else {
			l.borrowed += s.eligible
		}
		if m.Weight() >= float64(r.MinSamples) {
			l.known, l.perf = true, m.Value()
			return l
		}
	}
	return l
}

// ranksOnly reports whether a treated prefix without a level of its own takes part
// in drawing the boundary.
func (t *track) ranksOnly(now uint32, r Rules) bool {
	if t.chosen == nil || t.lastN == 0 {
		return false
	}
	n := 0
	for back := range uint32(r.lookback()) {
		if s := t.at(now - back); s != nil {
			n += int(s.any)
		}
	}
	return n >= r.MinSamples
}

// rounding: a performance can be a mean of equal ones, and be off from them in the last bit.
const rounding = 1e-9

// ranked is a prefix that draws the boundary.
type ranked struct {
	perf float64 // bytes/s
	site record.Prefix
}

// levels computes the level of all prefixes at window e.now, draws the boundary and extends
// the histories.
func (e *Engine) levels(d *Decision) {
	levels := make([]level, len(e.tracks))
	list := make([]ranked, 0, len(e.tracks))
	for i, t := range e.tracks {
		l := t.level(e.now, e.rules)
		levels[i] = l
		switch {
		case l.known:
			d.Known++
			list = append(list, ranked{l.perf, t.prefix.Site()})
		case t.ranksOnly(e.now, e.rules):
			list = append(list, ranked{t.last, t.prefix.Site()})
		}
	}
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Compare(a.perf, b.perf) })
	d.Ranked = len(list)
	sizes := siteSizes(list)
	e.siteShare = e.rules.siteShare(len(sizes))
	drawn := d.Ranked >= e.rules.MinRanked
	if drawn {
		d.BoundaryBytesPerS = boundary(list, sizes, e.siteShare, e.rules.GroupShare)
	}
	for i, t := range e.tracks {
		l := levels[i]
		if !l.known {
			continue
		}
		in := drawn && l.perf <= d.BoundaryBytesPerS*(1+rounding)
		if in {
			d.InGroup++
		}
		// 1 is the slowest; equals share the lower rank.
		below, _ := slices.BinarySearchFunc(list, l.perf, func(r ranked, perf float64) int { return cmp.Compare(r.perf, perf) })
		h := newEntry(e.now, l, below+1, in)
		p := t.pool(e.now, e.rules)
		h.class = e.signature(t, p).number()
		t.push(h, e.rules.HistoryWindows)
		t.last, t.lastAt, t.lastN = l.perf, e.now, l.own+l.borrowed
		e.remember(t, p)
	}
}
