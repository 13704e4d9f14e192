package policy

import (
	"fmt"
	"math"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// The pacing cap. BBR probes beyond the path's rate all the time, and a path with a short buffer or a policer
// drops the excess: that is what it resends. A sender that is held a little above the rate it has shown to get
// loses nothing and sends little in vain:
//
//	cap = 1.15 x p95 of the late rates of 6 h
//
// Nothing but late rates of treated connections may teach it: means that hold a slow start are 0.63 to 0.98 of the
// path's rate, and would hold it down; maxima are 1.4 to 1.7 of it behind a policer's bucket, and would not hold at
// all; the default's rates are what the treatment is there to change.
//
// Capped connections teach like the others, and do not pull their cap down: the p95 of min(rate, cap) is
// the p95 of the rate as long as that lies below the cap, which it does by 15 %; where it does not, it is the cap
// itself, and the next cap is 15 % higher. It falls because rates fell, and then by 5 % a window at most.
//
// What capped connections cannot show soon is a path that has become faster. One in ten connections, by a hash of its cookie
// (the kernel's scouts), is never capped, and the cap is lifted as soon as half of the newest capped ones run into it.
// Then it is learnt anew, from what was never held by it.
//
// All of this follows from rows and from Pace, which each round stores.

const (
	// capAbove p95: at 1.05 a connection that fills its path shows 1/1.05 = 0.95 of the cap, more than one that is
	// held shows; at 1.15 it shows 0.87. In the lab 1.15 keeps all goodput and saves 78 % of what is resent.
	capAbove = 1.15
	// capConns with a late rate: of 20 one lies beyond p95.
	capConns = 20
	// capMixed is p95 over p50: clients that differ by 0.29 in ln rate (one standard deviation). Beyond it the
	// prefix mixes access speeds, and a cap for its fastest holds none of the others.
	capMixed = 1.6
	// capStep: smaller moves are not worth a plan; and the most that a cap falls in a window.
	capStep = 0.05
	// capFull of the cap is "held by it". Only the fastest twentieth show more than 0.87 of a cap that does not hold them. One
	// that is held shows 0.97 to 1 of its payload, but the kernel paces headers and what is lost too: 0.88 to 0.94 of the
	// cap at 2.5 % loss (the lab's day doubles). At 0.95 such a path was held for good.
	capFull = 0.885
	// capLook capped connections tell whether it holds. Less than one in twenty runs into a cap that does not hold them, and half of
	// eight by chance is 4 in ten thousand.
	capLook = 8
)

// Pace is the pacing cap of a prefix in the plan.
type Pace struct {
	Cap    uint64 `json:"cap_bytes_per_s,omitempty"` // 0: none
	Since  int64  `json:"since,omitempty"`           // the round that first set it, Unix seconds
	Lifted int64  `json:"lifted,omitempty"`          // the round that last lifted one; nothing older teaches
}

// HasScouts reports whether the uncapped connections of a window that begins at a time are scouts: the cap came before
// the window's block. A response gets its cap as it crosses, and counts until its block ends, so in the
// block in which a cap came long ones run without it that are no scouts.
func (p Pace) HasScouts(start, blockSeconds int64) bool {
	return p.Since > 0 && start-start%blockSeconds > p.Since
}

// paceAll moves the caps of all treated prefixes, and tells of those that come and go.
func (e *Engine) paceAll(d *Decision) {
	if !e.rules.Cap {
		return
	}
	for _, t := range e.tracks {
		if t.chosen == nil {
			continue
		}
		s, why := *t.chosen, ""
		if s.Pace = (Pace{}); s.Role == record.ArmNone {
			s.Pace, why = e.next(t, d.RoundStart)
		}
		was := t.chosen.Pace
		if s.Pace == was {
			continue
		}
		e.put(t, &s)
		switch {
		case was.Cap == 0 && s.Pace.Cap > 0:
			e.tell(d, EventCapped, t, "", why)
		case was.Cap > 0 && s.Pace.Cap == 0:
			e.tell(d, EventUncapped, t, "", why)
		}
	}
}

// next returns the pace of a prefix from a round on, and why, if a cap comes or goes.
func (e *Engine) next(t *track, round int64) (p Pace, why string) {
	p = t.chosen.Pace
	p.Since, p.Lifted = min(p.Since, round), min(p.Lifted, round) // the clock was set back
	if p.Cap > 0 && e.isHeld(t, p.Since) {
		return Pace{Lifted: round}, fmt.Sprintf("the path is faster: half of the newest capped connections run into %s", rateText(float64(p.Cap)))
	}
	l := e.late(t, p.Lifted)
	if why := capWhy(l, p.Cap > 0); why != "" {
		return Pace{Lifted: p.Lifted}, why
	}
	to := uint64(math.Round(capAbove * l.p95))
	switch {
	case p.Cap == 0:
		return Pace{to, round, p.Lifted}, fmt.Sprintf("%s: %.2f x p95 of %s", rateText(float64(to)), capAbove, answer.Count(l.conns, "late rate"))
	case float64(to) < (1-capStep)*float64(p.Cap):
		p.Cap = uint64(math.Round((1 - capStep) * float64(p.Cap)))
	case float64(to) > (1+capStep)*float64(p.Cap):
		p.Cap = to
	}
	return p, ""
}

// capWhy says why late rates make no cap; "" if they make one. One that is there stays until the reason is clear, so that
// a prefix at the edge does not win and lose it by turns.
func capWhy(l lateRates, has bool) string {
	conns, mixed := capConns, capMixed
	if has {
		conns, mixed = capConns/2, capMixed*(1+capStep)
	}
	switch {
	case l.conns < conns:
		return fmt.Sprintf("%s, %d needed", answer.Count(l.conns, "late rate"), capConns)
	case !(l.p95 <= mixed*l.p50) || l.p50 < 1:
		return fmt.Sprintf("mixes access speeds: p95 is %.1f x p50 of %s, up to %.1f", l.p95/max(l.p50, 1), answer.Count(l.conns, "late rate"), capMixed)
	}
	return ""
}

// PacingCap is the part of an Explanation for a treated prefix, with Rules.Cap.
type PacingCap struct {
	Pace
	Conns        int     `json:"late_connections"`     // of the last 6 h, and since it was lifted
	P50BytesPerS float64 `json:"late_p50_bytes_per_s"` // of their late rates
	P95BytesPerS float64 `json:"late_p95_bytes_per_s"`
	Why          string  `json:"no_cap,omitempty"` // why there is none

	Effect *CapEffect `json:"effect,omitempty"` // absent without a window of both
}

// CapEffect is what the cap does, capped connections against scouts in the same windows.
type CapEffect struct {
	Windows       int     `json:"windows"`
	Goodput       float64 `json:"goodput_ratio"`               // of acknowledged bytes over busy time
	Low           float64 `json:"goodput_ratio_low,omitempty"` // 95 %, valid at any time; absent below 30 windows' worth
	High          float64 `json:"goodput_ratio_high,omitempty"`
	CappedRetrans float64 `json:"capped_retrans_share"`
	ScoutsRetrans float64 `json:"scouts_retrans_share"`
	CappedQueue   float64 `json:"capped_srtt_by_min_rtt"`
	ScoutsQueue   float64 `json:"scouts_srtt_by_min_rtt"`
}

// pacingCap returns nil if there is nothing to say.
func (e *Engine) pacingCap(t *track) *PacingCap {
	if !e.rules.Cap || t.chosen == nil || t.chosen.Role != record.ArmNone {
		return nil
	}
	l := e.late(t, t.chosen.Pace.Lifted)
	x := &PacingCap{Pace: t.chosen.Pace, Conns: l.conns, P50BytesPerS: l.p50, P95BytesPerS: l.p95}
	if x.Cap == 0 {
		x.Why = capWhy(l, false)
	}
	var list []effect.Beside
	for _, p := range t.paced {
		if int64(e.now-p.window) < e.rules.Trial.EvidenceSeconds/e.rules.WindowSeconds {
			list = append(list, effect.Beside{Prefix: t.prefix, Capped: p.capped.shown, Scouts: p.free.shown})
		}
	}
	x.Effect = CapEffectOf(effect.Capped(list))
	return x
}

// CapEffectOf returns an effect as people read it; nil if no window has both sides.
func CapEffectOf(e effect.CapEffect) *CapEffect {
	if e.Windows == 0 {
		return nil
	}
	x := &CapEffect{Windows: e.Windows, Goodput: math.Exp(e.LogRatio), CappedRetrans: e.CappedRetrans, ScoutsRetrans: e.ScoutsRetrans,
		CappedQueue: e.CappedQueue, ScoutsQueue: e.ScoutsQueue}
	if e.Known {
		x.Low, x.High = math.Exp(e.Low), math.Exp(e.High)
	}
	return x
}

// Text returns the effect on one line.
func (x *CapEffect) Text() string {
	bounds := "no bounds yet"
	if x.High > 0 {
		bounds = fmt.Sprintf("%.2f to %.2f", x.Low, x.High)
	}
	return fmt.Sprintf("goodput x %.2f (%s), retransmitted %s instead of %s, srtt / min_rtt %.2f instead of %.2f, beside scouts in %s",
		x.Goodput, bounds, percent(x.CappedRetrans, 2), percent(x.ScoutsRetrans, 2), x.CappedQueue, x.ScoutsQueue, answer.Count(x.Windows, "window"))
}

// capText prints what an Explanation says of the pacing cap.
func (x Explanation) capText(b *strings.Builder) {
	c := x.PacingCap
	if c == nil {
		return
	}
	text := "none: " + c.Why
	if c.Cap > 0 {
		text = fmt.Sprintf("%s since %s; p95 of %s in %s is %s, %.2f x p50 (the cap is %.2f x p95, in steps of %s)", rateText(float64(c.Cap)), timeText(c.Since),
			answer.Count(c.Conns, "late rate"), durationText(x.Thresholds.PastSeconds()), rateText(c.P95BytesPerS), c.P95BytesPerS/max(c.P50BytesPerS, 1),
			capAbove, percent(capStep, 0))
	}
	fmt.Fprintf(b, "\nPacing cap\n  cap            %s\n", text)
	if c.Lifted > 0 {
		fmt.Fprintf(b, "  lifted         %s: the path was faster; learnt anew from then on\n", timeText(c.Lifted))
	}
	if c.Effect != nil {
		fmt.Fprintf(b, "  effect         %s\n", c.Effect.Text())
	}
}
