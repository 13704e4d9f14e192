package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// sighting is one window of one prefix: its rows put together.
type sighting struct {
	prefix record.Prefix
	conns  uint64
	bytes  uint64 // all arms
	slot   slot
	rows   []*record.Window // all of them; not kept
}

// sound reports whether a row can be counted: a single NaN would spoil a ranking.
func sound(w *record.Window, start int64) bool {
	if w.Start != start || !w.Prefix.Valid() {
		return false
	}
	for _, v := range [...]float64{w.RateBytesPerS[record.Q20], w.RateBytesPerS[record.Q50], w.RateBytesPerS[record.Q80],
		w.MinRTTUs, w.SRTTUs, w.RetransShare, w.RwndShare, w.BusyShare, w.LateBytesPerS[0], w.LateBytesPerS[1]} {
		if !(v >= 0) || v > math.MaxFloat32 {
			return false
		}
	}
	return soundLog(w.LogRateMean, w.LogRateVar) && soundLog(w.LogGoodputMean, w.LogGoodputVar)
}

func soundLog(mean, variance float64) bool {
	return math.Abs(mean) <= maxLogRate && variance >= 0 && variance <= maxLogRate*maxLogRate
}

// maxLogRate is beyond ln of every float32 rate, the denormal ones included.
const maxLogRate = 104

// compareRows orders rows by prefix, and within one by all that is counted, so that
// floating-point sums do not depend on the order of input.
func compareRows(a, b *record.Window) int {
	if c := cmp.Compare(a.Prefix, b.Prefix); c != 0 {
		return c
	}
	return cmp.Or(
		cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Cong, b.Cong), record.CompareBool(a.Control, b.Control),
		cmp.Compare(a.Eligible, b.Eligible), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Conns, b.Conns),
		slices.Compare(a.RateBytesPerS[:], b.RateBytesPerS[:]),
		cmp.Compare(a.MinRTTUs, b.MinRTTUs), cmp.Compare(a.SRTTUs, b.SRTTUs),
		cmp.Compare(a.RetransShare, b.RetransShare), cmp.Compare(a.RwndShare, b.RwndShare), cmp.Compare(a.BusyShare, b.BusyShare),
		record.CompareBool(a.Carryover, b.Carryover), record.CompareBool(a.Washout, b.Washout),
		cmp.Compare(a.LogRateMean, b.LogRateMean), cmp.Compare(a.LogRateVar, b.LogRateVar),
		cmp.Compare(a.EligibleSentBytes, b.EligibleSentBytes), cmp.Compare(a.EligibleRetransBytes, b.EligibleRetransBytes),
		record.CompareBool(a.Capped, b.Capped), cmp.Compare(a.LogGoodputMean, b.LogGoodputMean), cmp.Compare(a.LogGoodputVar, b.LogGoodputVar),
		cmp.Compare(a.RateMeans, b.RateMeans), cmp.Compare(a.Episodes, b.Episodes), cmp.Compare(a.LateConns, b.LateConns), slices.Compare(a.LateBytesPerS[:], b.LateBytesPerS[:]))
}

// sightings groups the rows of one window by prefix, in order; unsound counts the rows
// left out.
func (e *Engine) sightings(rows []record.Window, start int64) (all []sighting, unsound int) {
	order := make([]*record.Window, 0, len(rows))
	for i := range rows {
		if sound(&rows[i], start) {
			order = append(order, &rows[i])
		}
	}
	if !slices.IsSortedFunc(order, compareRows) {
		slices.SortFunc(order, compareRows)
	}
	unsound = len(rows) - len(order)
	all = make([]sighting, 0, len(order))
	total := uint64(0)
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].Prefix == order[0].Prefix {
			n++
		}
		s := together(order[:n])
		s.slot.window = e.now
		total += s.conns
		all = append(all, s)
		order = order[n:]
	}
	for i := range all {
		all[i].slot.share = float32(math.NaN())
		if len(all) >= e.rules.Guards.MinSharePrefixes && total > 0 {
			all[i].slot.share = float32(float64(all[i].conns) / float64(total))
		}
	}
	return all, unsound
}

// together sums one prefix's rows. Means over control rows are weighted by eligible
// connections; the retransmitted share by bytes, as it is one of bytes.
func together(rows []*record.Window) sighting {
	s := sighting{prefix: rows[0].Prefix, rows: rows}
	var median, rtt, srtt, retrans, rwnd, busy stat.Mean
	var eligible, anyArm uint64
	low, high := math.Inf(1), 0.0
	for _, w := range rows {
		s.conns += uint64(w.Conns)
		s.bytes += w.Bytes
		anyArm += uint64(w.Eligible)
		if !w.Control || w.Eligible == 0 {
			continue
		}
		n := float64(w.Eligible)
		eligible += uint64(w.Eligible)
		// Whole bytes per second keep weighted means exact, so that a level that does not change
		// equals itself however it was borrowed.
		median.Add(math.Round(w.RateBytesPerS[record.Q50]), n)
		if w.MinRTTUs > 0 { // 0 is unknown
			rtt.Add(w.MinRTTUs, n)
		}
		if w.SRTTUs > 0 {
			srtt.Add(w.SRTTUs, n)
		}
		rwnd.Add(w.RwndShare, n)
		busy.Add(w.BusyShare, n)
		retrans.Add(w.RetransShare, max(float64(w.Bytes), 1))
		low, high = min(low, w.RateBytesPerS[record.Q20]), max(high, w.RateBytesPerS[record.Q80])
	}
	s.slot.any = uint32(min(anyArm, math.MaxUint32))
	if eligible == 0 {
		return s
	}
	s.slot.eligible = uint32(min(eligible, math.MaxUint32))
	s.slot.median = math.Round(median.Value())
	s.slot.rttUs, s.slot.srttUs = float32(finite(rtt.Value())), float32(finite(srtt.Value()))
	s.slot.retrans, s.slot.bytes = float32(retrans.Value()), float32(retrans.Weight())
	s.slot.rwnd, s.slot.busy = float32(rwnd.Value()), float32(busy.Value())
	s.slot.p20, s.slot.p80 = float32(low), float32(high)
	return s
}

// find returns the track of a prefix, nil if it is not known, and where it is or would be.
func (e *Engine) find(p record.Prefix) (t *track, at int) {
	at, ok := slices.BinarySearchFunc(e.tracks, p, func(t *track, p record.Prefix) int { return cmp.Compare(t.prefix, p) })
	if ok {
		t = e.tracks[at]
	}
	return t, at
}

// insert tracks a prefix that is not known, from the present window on.
func (e *Engine) insert(p record.Prefix) *track {
	_, at := e.find(p)
	t := &track{plain: plain{prefix: p, seen: e.now}}
	e.tracks = slices.Insert(e.tracks, at, t)
	return t
}

// forget drops prefixes that were silent for too long. A selected prefix stays until it is
// released.
func (e *Engine) forget() {
	e.tracks = slices.DeleteFunc(e.tracks, func(t *track) bool { return t.chosen == nil && e.silent(t) })
}

func (e *Engine) silent(t *track) bool { return int64(e.now-t.seen) >= e.rules.maxAge() }

// store files one window's sightings and returns the number of prefixes that did not fit.
func (e *Engine) store(all []sighting) (dropped int) {
	var fresh []*track
	for i := range all {
		s := &all[i]
		t, _ := e.find(s.prefix)
		if t == nil {
			t = &track{plain: plain{prefix: s.prefix}}
			fresh = append(fresh, t)
		}
		t.bytes += s.bytes
		t.put(s.slot, e.rules.lookback())
		t.pass(seen(s.rows), e.now, e.rules)
		e.file(t, s.rows)
		if e.rules.PoPGroup() > 0 && !e.in.Stopped {
			t.noteBlock(s.rows, e.blockOf(s.rows[0].Start))
		}
		e.pace(t, s.rows)
	}
	if len(fresh) > 0 {
		e.tracks = append(e.tracks, fresh...)
		slices.SortFunc(e.tracks, func(a, b *track) int { return cmp.Compare(a.prefix, b.prefix) })
	}
	if over := len(e.tracks) - e.rules.MaxTracked; over > 0 {
		out := e.least(over)
		e.tracks = slices.DeleteFunc(e.tracks, func(t *track) bool { return out[t.prefix] })
		dropped = len(out)
	}
	return dropped
}

// least picks the n prefixes that moved the fewest bytes since they are
// tracked, never a selected one. Ties go by prefix, the highest first, so that the order
// of input does not matter.
func (e *Engine) least(n int) map[record.Prefix]bool {
	some := slices.DeleteFunc(slices.Clone(e.tracks), func(t *track) bool { return t.chosen != nil })
	slices.SortFunc(some, func(a, b *track) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(b.prefix, a.prefix))
	})
	out := make(map[record.Prefix]bool, n)
	for _, t := range some[:min(n, len(some))] {
		out[t.prefix] = true
	}
	return out
}
