package policy

import (
	"math"
	"strings"

	"github.com/congctl/congctl/internal/core/ranges"
	"github.com/congctl/congctl/internal/core/stat"
)

// Guards: a slow prefix that no congestion control can help, or that is no
// path, is not treated. They are judged over the prefix's eligible control
// connections of the lookback (30 min), never over treated ones.
//
// They rule entry. Two of them, the deny list and the special ranges, are
// statements and not measurements, and also end a treatment. The measured ones do
// not: a treated prefix has few control rows, and one odd window must not turn a
// decision round; level and, later, effect decide exit. For the same reason
// some of them have a memory (guard_memory.go): one odd window must let nobody in.

// Names of the guards, in the order in which they are told.
const (
	GuardDeny    = "deny"
	GuardRange   = "range"
	GuardShare   = "share"
	GuardRTT     = "low-rtt"
	GuardRwnd    = "rwnd"
	GuardBusy    = "busy"
	GuardPolicer = "policer"
	GuardStarved = "starved" // of the host, not of a prefix
)

// GuardState is how a guard stands.
type GuardState string

const (
	GuardPass   GuardState = "pass"
	GuardHit    GuardState = "hit"
	GuardHeld   GuardState = "held"        // does not hit now, and did in the last MinKnown known windows
	GuardOff    GuardState = "off"         // by configuration
	GuardNoData GuardState = "no evidence" // nothing in the lookback to judge by
	GuardExempt GuardState = "exempt"      // on the allow list
)

// Guard is one guard of one prefix.
type Guard struct {
	Name  string     `json:"name"`
	State GuardState `json:"state"`
	Text  string     `json:"text"` // value against limit, in words

	Value float64 `json:"value"` // 0 without evidence and for lists
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"` // of both: "us", "share" (0..1) or "ratio"
}

// Pool is what the eligible control connections of the lookback say together.
type Pool struct {
	Conns         int     `json:"connections"`
	MinRTTUs      float64 `json:"min_rtt_us"`       // mean of the windows' medians, by connections; 0 not known
	SRTTUs        float64 `json:"srtt_us"`          // the same
	RateBytesPerS float64 `json:"rate_bytes_per_s"` // the same
	RetransShare  float64 `json:"retrans_share"`    // by bytes
	RwndShare     float64 `json:"rwnd_share"`       // by connections
	BusyShare     float64 `json:"busy_share"`       // by connections
	Spread        float64 `json:"rate_spread"`      // highest p80 over lowest p20 of the rate
	Burst         float64 `json:"loss_burst"`       // see burst
	ConnShare     float64 `json:"conn_share"`       // of all connections, all arms: the largest of the windows; NaN if there is none
}

// finite is p with 0 for what has no value, so that it can be JSON.
func (p Pool) finite() Pool {
	p.Spread, p.Burst, p.ConnShare = finite(p.Spread), finite(p.Burst), finite(p.ConnShare)
	return p
}

func (t *track) pool(now uint32, r Rules) Pool {
	p := Pool{ConnShare: math.NaN()}
	var rtt, srtt, rate, retrans, rwnd, busy stat.Mean
	low, high := math.Inf(1), 0.0
	for back := range uint32(r.lookback()) {
		s := t.at(now - back)
		if s == nil {
			continue
		}
		if v := float64(s.share); !math.IsNaN(v) && !(v <= p.ConnShare) {
			p.ConnShare = v
		}
		if s.eligible == 0 {
			continue
		}
		n := float64(s.eligible)
		p.Conns += int(s.eligible)
		if s.rttUs > 0 {
			rtt.Add(float64(s.rttUs), n)
		}
		if s.srttUs > 0 {
			srtt.Add(float64(s.srttUs), n)
		}
		rate.Add(s.median, n)
		rwnd.Add(float64(s.rwnd), n)
		busy.Add(float64(s.busy), n)
		retrans.Add(float64(s.retrans), float64(s.bytes))
		low, high = min(low, float64(s.p20)), max(high, float64(s.p80))
	}
	if p.Conns == 0 {
		return p
	}
	p.MinRTTUs, p.SRTTUs, p.RateBytesPerS = finite(rtt.Value()), finite(srtt.Value()), rate.Value()
	p.RetransShare, p.RwndShare, p.BusyShare = retrans.Value(), rwnd.Value(), busy.Value()
	p.Spread = high / low
	p.Burst = burst(p.RateBytesPerS, p.SRTTUs, p.RetransShare)
	return p
}

// segmentBytes is the payload of a full-size packet: 1500 less IPv4, TCP and
// timestamps. IPv6's 20 bytes less are 1.4 %, and PolicerBurst is a factor.
const segmentBytes = 1448

// burst compares the packets in flight with those that loss would leave if
// losses came one by one:
//
//	W = rate srtt / segment,   W1 = sqrt(3/2) / sqrt(p),   burst = W / W1
//
// W1 is the loss response of standard TCP (Mathis, Semke, Mahdavi, Ott, CCR 27(3),
// 1997). Random loss gives about 1: each loss costs a reduction. A policer throws
// away a whole burst for one reduction: 10 at 10 Mbit/s and 50 ms with 10 % lost.
func burst(rate, srttUs, p float64) float64 {
	return rate * srttUs / 1e6 / segmentBytes / math.Sqrt(1.5/p)
}

// above and below compare at float32's precision, which is that of the slots:
// a share of exactly the limit is not above it.
func above(v, limit float64) bool { return float32(v) > float32(limit) }
func below(v, limit float64) bool { return float32(v) < float32(limit) }

// guards judges a prefix at the present window, without Text.
func (e *Engine) guards(t *track, p Pool) []Guard {
	allowed := e.allowed(t)
	measured := e.measured(t, p, allowed)
	for i := range measured {
		g := &measured[i]
		if _, lately := e.hitLately(t, g.Name); lately && (g.State == GuardPass || g.State == GuardNoData) {
			g.State = GuardHeld
		}
	}
	list := make([]Guard, 0, 2+len(measured))
	list = append(list, Guard{Name: GuardDeny, State: exempt(allowed, e.denied(t))}, Guard{Name: GuardRange, State: exempt(allowed, special(t))})
	return append(list, measured[:]...)
}

// measured judges by the pool alone, without what was before it.
func (e *Engine) measured(t *track, p Pool, allowed bool) [5]Guard {
	g := e.rules.Guards
	list := [5]Guard{
		{Name: GuardShare, State: exempt(allowed, above(p.ConnShare, g.MaxConnShare)), Value: p.ConnShare, Limit: g.MaxConnShare, Unit: "share"},
		{Name: GuardRTT, State: hit(below(p.MinRTTUs, g.TinyRTTUs) ||
			below(p.MinRTTUs, g.LowRTTUs) && below(p.RetransShare, g.LowRTTRetransShare)), Value: p.MinRTTUs, Limit: g.LowRTTUs, Unit: "us"},
		{Name: GuardRwnd, State: hit(above(p.RwndShare, g.MaxRwndShare)), Value: p.RwndShare, Limit: g.MaxRwndShare, Unit: "share"},
		{Name: GuardBusy, State: hit(below(p.BusyShare, g.MinBusyShare)), Value: p.BusyShare, Limit: g.MinBusyShare, Unit: "share"},
		{Name: GuardPolicer, State: hit(e.policed(p)), Value: p.Spread, Limit: g.PolicerSpread, Unit: "ratio"},
	}
	share, rtt, policer := &list[0], &list[1], &list[4]
	if math.IsNaN(p.ConnShare) {
		share.Value = 0
		if !allowed {
			share.State = GuardNoData
		}
	}
	for i := range list[1:] {
		if p.Conns == 0 {
			list[1+i].State = GuardNoData
		}
	}
	// Round-trip times can be unknown where rates are not; then what rests on them is.
	if p.MinRTTUs == 0 {
		rtt.State = GuardNoData
	}
	if p.SRTTUs == 0 {
		policer.State = GuardNoData
	}
	policer.Value = finite(p.Spread)
	if !g.LowRTT {
		rtt.State = GuardOff
	}
	return list
}

func (e *Engine) policed(p Pool) bool {
	g := e.rules.Guards
	return p.Conns >= e.rules.MinSamples && p.Spread <= g.PolicerSpread &&
		!below(p.RetransShare, g.PolicerRetransShare) && p.Burst >= g.PolicerBurst
}

func (e *Engine) allowed(t *track) bool {
	_, ok := ranges.Covering(e.rules.Guards.Allow, t.prefix.Netip())
	return ok
}

func (e *Engine) denied(t *track) bool {
	n := t.prefix.Netip()
	for _, r := range e.rules.Guards.Deny {
		if r.Overlaps(n) {
			return true
		}
	}
	return false
}

func special(t *track) bool {
	_, ok := ranges.Special(t.prefix.Netip())
	return ok
}

func hit(yes bool) GuardState {
	if yes {
		return GuardHit
	}
	return GuardPass
}

func exempt(allowed, yes bool) GuardState {
	if yes && allowed {
		return GuardExempt
	}
	return hit(yes)
}

func (g Guard) holds() bool { return g.State == GuardHit || g.State == GuardHeld }

// hits joins the names of the guards that hold a prefix back.
func hits(list []Guard) string {
	var names []string
	for _, g := range list {
		if g.holds() {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, ",")
}

// barred joins the names of the guards that also end a treatment.
func (e *Engine) barred(t *track) string {
	if e.allowed(t) {
		return ""
	}
	return hits([]Guard{{Name: GuardDeny, State: hit(e.denied(t))}, {Name: GuardRange, State: hit(special(t))}})
}
