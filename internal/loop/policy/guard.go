package policy

import (
	"math"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Guards: a slow prefix is not treated if no congestion control can help it, or if it is
// not a path. They are judged over the prefix's eligible control connections of the
// lookback (30 min), never over treated ones.
//
// They decide entry. Two of them, the list Never and the special ranges, are statements,
// not measurements, and also end a treatment. The measured ones do not: a treated prefix
// has few control rows, and one odd window must not turn a decision round; level and,
// later, effect decide exit. For the same reason some have a memory, see remembering:
// one odd window must not let a prefix in.

// Names of the guards, in the order in which they are listed.
const (
	GuardNever   = "never"
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
	GuardHeld   GuardState = "held"        // does not hit now, but did in the last MinKnown known windows
	GuardOff    GuardState = "off"         // by configuration; policer also with selection by benefit
	GuardNoData GuardState = "no evidence" // nothing in the lookback to judge by
	GuardExempt GuardState = "exempt"      // on the allow list, or in Always
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

// Pool sums up the eligible control connections of the lookback.
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
	ConnShare     float64 `json:"conn_share"`       // of all connections, all arms: the largest of the windows; NaN without any
}

// finite returns p with 0 for missing values, so that it can be JSON.
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

// segmentBytes is the payload of a full-size packet: 1500 less IPv4, TCP and timestamps.
// IPv6's 20 bytes less are 1.4 %, and PolicerBurst is a factor.
const segmentBytes = 1448

// burst compares the packets in flight with those that the same losses would leave if
// they came one by one:
//
//	W = rate srtt / segment,   W1 = max(sqrt(3/2) / sqrt(p), 1.0538 (srtt/p)^(3/4)),   burst = W / W1
//
// W1 is the loss response of standard TCP (Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997)
// or of CUBIC, srtt in seconds (RFC 9438, 5.1). Random loss gives about 1, since each loss
// costs a reduction. A policer drops a whole burst for one reduction: 10 at 10 Mbit/s and
// 50 ms with 10 % lost.
func burst(rate, srttUs, p float64) float64 { return inFlight(rate, srttUs) / singleLosses(srttUs, p) }

func inFlight(rate, srttUs float64) float64 { return rate * srttUs / 1e6 / segmentBytes }

func singleLosses(srttUs, p float64) float64 {
	return max(math.Sqrt(1.5/p), 1.0538*math.Pow(srttUs/1e6/p, 0.75))
}

// above and below compare at float32's precision, which is that of the slots: a share of
// exactly the limit is not above it.
func above(v, limit float64) bool { return float32(v) > float32(limit) }
func below(v, limit float64) bool { return float32(v) < float32(limit) }

// guards judges a prefix at the present window, without Text.
func (e *Engine) guards(t *track, p Pool) []Guard {
	measured := e.measured(t, p, e.allowed(t))
	for i := range measured {
		g := &measured[i]
		if e.rules.Select == SelectAll {
			g.State = GuardOff
		}
		if _, lately := e.hitLately(t, g.Name); lately && (g.State == GuardPass || g.State == GuardNoData) {
			g.State = GuardHeld
		}
	}
	return append(e.listed(t), measured[:]...)
}

// listed judges by the operator's lists and the special ranges alone: these guards also end
// a treatment. No range of Allow exempts from Never, which the kernel follows by address. A
// network of Always may have a part in Never: the rest of it is treated.
func (e *Engine) listed(t *track) []Guard {
	_, always := e.isAlways(t.prefix)
	_, special := ranges.Special(t.prefix.Netip())
	list := make([]Guard, 0, 2+5) // with room for the measured ones
	return append(list, Guard{Name: GuardNever, State: exempt(always, len(e.never(t)) > 0)},
		Guard{Name: GuardRange, State: exempt(e.allowed(t), special)})
}

// measured judges by the pool alone, not by earlier windows.
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
	// Round-trip times can be unknown when rates are not; what depends on them is unknown too.
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
	if e.rules.Select == SelectBenefit {
		policer.State = GuardOff // a class there, which is expected to gain nothing
	}
	return list
}

// policed tells a policer: the guard of the other selection, and a class of the signature.
func (e *Engine) policed(p Pool) bool {
	g := e.rules.Guards
	return p.Conns >= e.rules.MinSamples && p.Spread <= g.PolicerSpread &&
		!below(p.RetransShare, g.PolicerRetransShare) && p.Burst >= g.PolicerBurst
}

// allowed: what is listed by name in Always needs no range of Allow.
func (e *Engine) allowed(t *track) bool {
	_, yes := e.isAlways(t.prefix)
	if !yes {
		_, yes = ranges.Covering(e.rules.Guards.Allow, t.prefix.Netip())
	}
	return yes
}

// never returns the entries of Never that overlap a prefix.
func (e *Engine) never(t *track) (hit []Listed) {
	n := t.prefix.Netip()
	for _, l := range e.rules.Guards.Never {
		if l.Net.Overlaps(n) {
			hit = append(hit, l)
		}
	}
	return hit
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

// Barred reports whether the rules alone, never or a special range, forbid to treat a prefix.
func (e *Engine) Barred(p record.Prefix) bool { return e.barred(&track{plain: plain{prefix: p}}) != "" }

// barred joins the names of the guards that also end a treatment.
func (e *Engine) barred(t *track) string { return hits(e.listed(t)) }

// Guards that depend on how a client uses its connections fluctuate. An application that
// sends at 2 Mbit/s keeps a 20 Mbit/s path busy for 31 to 61 % of the time in half hours of
// one simulated day, around the limit of 50 %, and is as slow as a bad path all the while.
// Judged window by window such a prefix is tried in its first odd half hour. So these
// guards remember, as the level does:
//
//	a guard holds a prefix back from the window in which it hits until
//	MinKnown known windows in a row have passed without a hit
//
// The others need no memory: a path's RTT does not fluctuate, and the share of all
// connections is the largest of the lookback already. Unknown windows of a prefix neither
// hit nor pass: without a level no prefix is selected either.

// remembering are the guards with a memory.
var remembering = [...]string{GuardRwnd, GuardBusy, GuardPolicer}

// remember notes which guards hit in the present window, which is known.
func (e *Engine) remember(t *track, p Pool) {
	for _, g := range e.measured(t, p, false) {
		if i := slices.Index(remembering[:], g.Name); i >= 0 && g.State == GuardHit {
			t.hitAt[i] = e.now + 1
		}
	}
}

// hitLately reports whether a guard hit in one of the last MinKnown known windows, and
// returns the last such window.
func (e *Engine) hitLately(t *track, name string) (window uint32, yes bool) {
	i := slices.Index(remembering[:], name)
	if i < 0 || len(t.history) == 0 || t.hitAt[i] == 0 {
		return 0, false
	}
	first := t.history[max(len(t.history)-e.rules.MinKnown, 0)]
	window = t.hitAt[i] - 1
	return window, window >= e.windowOf(first)
}

// forgetHits drops hits in number and later windows. Earlier hits are then unknown too, and
// count as none.
func (t *track) forgetHits(number uint32) {
	for i, at := range t.hitAt {
		if at > number {
			t.hitAt[i] = 0
		}
	}
}
