package policy

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/congctl/congctl/internal/tcp/record"
)

// treated is what treatment does to a prefix of a script.
type treated struct {
	effect  float64 // on rates; 0 is 1
	goodput float64 // on goodput over busy time; 0: as on rates
	retrans float64 // retransmitted share; 0: as without

	free, capped  late    // with policy.cap, of uncapped and of capped connections
	cappedRetrans float64 // retransmitted share of the capped
}

// late are late rates of a window's connections, kB/s.
type late struct{ n, p50, p95 float64 }

// on gives them to a row.
func (l late) on(w record.Window, capped bool) record.Window {
	w.Capped, w.LateConns, w.LateBytesPerS, w.LogGoodputMean = capped, uint32(l.n), [2]float64{1000 * l.p50, 1000 * l.p95}, logOf(1000*l.p50)
	return w
}

// firstBlock draws the first block of each group for control, and no prefix for a role.
type firstBlock struct{}

func (firstBlock) Role(record.Prefix) record.Arm { return record.ArmNone }

func (firstBlock) Chance(record.Prefix, int64) float64 { return 0.5 }

func (firstBlock) Arm(_ record.Prefix, groupLen int, block int64) record.Arm {
	if block%int64(groupLen) == 0 {
		return record.ArmControl
	}
	return record.ArmTreatment
}

func logOf(rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	return math.Log(rate)
}

// start makes the engine of the present rules.
func (p *play) start() {
	p.next, p.plan = noon, nil
	if p.rules.Experiment() {
		p.engine = New(p.rules, firstBlock{})
		return
	}
	p.engine = byLevel(p.rules)
}

func (p *play) setTreated(prefix record.Prefix, key, value string) bool {
	v, err := strconv.ParseFloat(value, 64)
	u := p.under[prefix]
	var l late
	if n, _ := fmt.Sscanf(value, "%gx%g:%g", &l.n, &l.p50, &l.p95); n == 3 {
		err = nil
	}
	switch {
	case err != nil:
		return false
	case key == "effect":
		u.effect = v
	case key == "tgoodput":
		u.goodput = v
	case key == "tretrans":
		u.retrans = v
	case key == "late":
		u.free = l
	case key == "capped":
		u.capped = l
	case key == "cretrans":
		u.cappedRetrans = v
	default:
		return false
	}
	p.under[prefix] = u
	return true
}

// asPlanned is a prefix's row under the plan in force: in its arm, and with what the
// treatment does there.
func (p *play) asPlanned(w record.Window) record.Window {
	if p.rules.Experiment() {
		return planned(w, p.plan, p.rules.Trial, firstBlock{}, p.under[w.Prefix])
	}
	return w
}

// cappedOf is the row of the capped connections beside a treated one.
func (p *play) cappedOf(w record.Window) (record.Window, bool) {
	u := p.under[w.Prefix]
	for _, s := range p.plan {
		if s.Prefix == w.Prefix && s.Pace.Cap > 0 && u.capped.n > 0 && w.Cong == "bbr" {
			w = u.capped.on(w, true)
			w.EligibleRetransBytes = uint64(u.cappedRetrans * float64(w.EligibleSentBytes))
			return w, true
		}
	}
	return w, false
}

func planned(w record.Window, plan []Selected, r Trial, draws Draws, under treated) record.Window {
	for i := range plan {
		s := &plan[i]
		switch {
		case s.Prefix != w.Prefix && s.Prefix != record.All:
			continue
		case s.Role != record.ArmNone:
			w.Arm = s.Role
			return w
		}
		groupLen := r.GroupTrial
		if s.State == StatePromoted || s.State == StateAlways {
			groupLen = r.GroupPromoted
		}
		w.Arm = draws.Arm(s.Prefix, groupLen, w.Start/r.BlockSeconds)
		if s.Uncontrolled {
			w.Arm = record.ArmTreatment
		}
		w.Control = w.Arm == record.ArmControl
		if w.Arm == record.ArmTreatment {
			w = under.apply(w)
		}
	}
	return w
}

func (u treated) apply(w record.Window) record.Window {
	w.Cong = "bbr"
	if u.effect > 0 {
		for q := range w.RateBytesPerS {
			w.RateBytesPerS[q] *= u.effect
		}
		w.LogRateMean += math.Log(u.effect)
	}
	if u.free.n > 0 {
		w = u.free.on(w, false)
	}
	if on := cmp.Or(u.goodput, u.effect); on > 0 && w.LogGoodputMean != 0 {
		w.LogGoodputMean += math.Log(on)
	}
	if u.retrans > 0 {
		w.RetransShare = u.retrans
		w.EligibleRetransBytes = uint64(u.retrans * float64(w.EligibleSentBytes))
	}
	return w
}
