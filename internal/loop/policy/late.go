package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Late rates: how fast treated connections were once their slow start was over. A row keeps p50, p95 and
// the number of its connections, and quantiles of many windows need values, so they are rebuilt. A type-7
// quantile is a point of the line through the sorted values, and a straight line through the two,
//
//	Q(p) = p50 + (p - 1/2) (p95 - p50) / 0.45,   value i = Q(i / (n-1)),  i = 0 .. n-1
//
// restores one and two values exactly, and the upper two of three. With more, the tail beyond p95 is a
// guess, and so is the half below p50; the pooled quantiles hang on neither (TestLatePooled: within 2 % for clients
// that differ by up to 0.35 in ln rate). Above ten connections ten values stand for
// them, each the middle of its tenth: then p50 and p95 of equal windows are theirs.

const lateParts = 10 // values at most for one side of a window

// paced is one window of a treated prefix.
type paced struct {
	window       uint32
	limit        float32 // the cap in force, bytes/s; 0: none
	free, capped pacedSide
}

// pacedSide is what ran without, or with, a pacing cap.
type pacedSide struct {
	late     uint32  // connections with a late rate
	p50, p95 float32 // over them, bytes/s
	shown    effect.Side
}

// take adds a row. A PoP with two defaults has two of a kind: means of their quantiles are near enough.
func (s *pacedSide) take(w *record.Window) {
	if n := w.LateConns; n > 0 {
		s.late += n
		share := float32(n) / float32(s.late)
		s.p50 += share * (float32(w.LateBytesPerS[0]) - s.p50)
		s.p95 += share * (float32(w.LateBytesPerS[1]) - s.p95)
	}
	if side, ok := effect.SideOf(w); ok {
		s.shown = s.shown.Join(side)
	}
}

// pace files one window's rows of a treated prefix: of treated connections, never of the default's, which a
// treatment block also holds where the switch was refused or undone.
func (e *Engine) pace(t *track, rows []*record.Window) {
	if !e.rules.Cap || e.in.Stopped || t.chosen == nil || t.chosen.Role != record.ArmNone {
		return
	}
	p := paced{window: e.now, limit: float32(t.chosen.Pace.Cap)}
	for _, w := range rows {
		switch {
		case w.Arm != record.ArmTreatment || w.Cong != e.rules.Treatment || w.Carryover:
		case !w.Capped:
			p.free.take(w)
		case p.limit > 0: // else left over from a cap that was lifted
			p.capped.take(w)
		}
	}
	if !t.chosen.Pace.HasScouts(e.start(e.now), e.rules.Trial.BlockSeconds) {
		p.free.shown, p.capped.shown = effect.Side{}, effect.Side{}
	}
	if p.free == (pacedSide{}) && p.capped == (pacedSide{}) {
		return
	}
	keep := uint32(max(e.rules.PastSeconds(), e.rules.Trial.EvidenceSeconds) / e.rules.WindowSeconds)
	t.paced = append(slices.DeleteFunc(t.paced, func(o paced) bool { return e.now-o.window >= keep }), p)
}

// lateRates are those of a prefix, pooled.
type lateRates struct {
	conns    int
	p50, p95 float64 // bytes/s
}

// late pools the windows of the last PastSeconds that begin at a time or later.
func (e *Engine) late(t *track, since int64) lateRates {
	var v lateValues
	for _, p := range t.paced {
		if int64(e.now-p.window) < e.rules.PastSeconds()/e.rules.WindowSeconds && e.start(p.window) >= since {
			v.add(p.free)
			v.add(p.capped)
		}
	}
	return v.pooled()
}

// isHeld reports whether half of the newest capped connections, capLook of them and those of the same window, ran into the cap
// of their time. Only windows that begin at a time or later count.
func (e *Engine) isHeld(t *track, since int64) bool {
	var v lateValues
	full := 0.0
	for _, p := range slices.Backward(t.paced) {
		if e.start(p.window) < since {
			return false
		}
		had := len(v.list)
		v.add(p.capped)
		for _, x := range v.list[had:] {
			if x.at >= capFull*float64(p.limit) {
				full += x.weight
			}
		}
		if v.conns >= capLook {
			return 2*full >= float64(v.conns)
		}
	}
	return false
}

// lateValue stands for so many connections.
type lateValue struct{ at, weight float64 }

type lateValues struct {
	conns int
	list  []lateValue
}

// add rebuilds the values of one side of a window.
func (v *lateValues) add(s pacedSide) {
	n := min(int(s.late), lateParts)
	v.conns += int(s.late)
	slope := (float64(s.p95) - float64(s.p50)) / 0.45
	for i := range n {
		p := 0.5
		switch {
		case n < int(s.late):
			p = (float64(i) + 0.5) / lateParts
		case n > 1:
			p = float64(i) / float64(n-1)
		}
		v.list = append(v.list, lateValue{max(float64(s.p50)+(p-0.5)*slope, 0), float64(s.late) / float64(n)})
	}
}

func (v *lateValues) pooled() (r lateRates) {
	if r.conns = v.conns; r.conns == 0 {
		return r
	}
	slices.SortFunc(v.list, func(a, b lateValue) int { // a fifth of a round: without a second comparison, which few need
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		return cmp.Compare(a.weight, b.weight)
	})
	at, sums, sum, squares := make([]float64, len(v.list)), make([]float64, len(v.list)), 0.0, 0.0
	for i, x := range v.list {
		sum += x.weight
		squares += x.weight * x.weight
		at[i], sums[i] = x.at, sum
	}
	quantile := func(q float64) float64 { return math.Round(stat.Weighted(at, sums, sum*sum/squares, q)) }
	r.p50, r.p95 = quantile(0.50), quantile(0.95)
	return r
}
