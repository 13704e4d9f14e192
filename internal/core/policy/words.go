package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/congctl/congctl/internal/core/ranges"
)

// guardText is a guard's value against its limit, and since when it holds who would pass now.
func (e *Engine) guardText(g Guard, t *track, p Pool) string {
	text := e.valueText(g, t, p)
	if g.State == GuardHeld {
		last, _ := e.hitLately(t, g.Name)
		text += fmt.Sprintf("; hit in the window of %s, and %s in a row without a hit are needed", timeText(e.start(last)),
			count(e.rules.MinKnown, "known window"))
	}
	return text
}

func (e *Engine) valueText(g Guard, t *track, p Pool) string {
	r := e.rules.Guards
	back := durationText(e.rules.LookbackSeconds)
	switch {
	case g.Name == GuardDeny:
		return e.denyText(t)
	case g.Name == GuardRange:
		return rangeText(t)
	case g.Name == GuardShare && math.IsNaN(p.ConnShare):
		return fmt.Sprintf("fewer than %d prefixes in each window of the last %s: shares mean nothing", r.MinSharePrefixes, back)
	case g.Name != GuardShare && p.Conns == 0:
		return "no eligible control connection in the last " + back
	case g.State == GuardNoData || g.Name == GuardRTT && p.MinRTTUs == 0:
		return "no round-trip time known in the last " + back
	case g.Name == GuardShare:
		return fmt.Sprintf("%s of all connections in its largest window of the last %s (limit %s)",
			percent(g.Value, 1), back, percent(g.Limit, 1))
	case g.Name == GuardRTT:
		return fmt.Sprintf("median min_rtt %s (limit %s, and %s whatever is lost), %s retransmitted (limit %s)",
			millis(p.MinRTTUs), millis(r.LowRTTUs), millis(r.TinyRTTUs), percent(p.RetransShare, 2), percent(r.LowRTTRetransShare, 2))
	case g.Name == GuardRwnd:
		return fmt.Sprintf("limited by the client's receive window %s of the busy time (limit %s)", percent(g.Value, 1), percent(g.Limit, 1))
	case g.Name == GuardBusy:
		return fmt.Sprintf("busy sending %s of the time (at least %s)", percent(g.Value, 1), percent(g.Limit, 1))
	}
	return fmt.Sprintf("rate p80/p20 %.2f (flat up to %.2f), %s retransmitted (from %s), bursts %.1f (from %.1f)",
		p.Spread, r.PolicerSpread, percent(p.RetransShare, 1), percent(r.PolicerRetransShare, 1), finite(p.Burst), r.PolicerBurst)
}

func (e *Engine) denyText(t *track) string {
	n := t.prefix.Netip()
	for _, r := range e.rules.Guards.Deny {
		if r.Overlaps(n) {
			return fmt.Sprintf("overlaps %s of the deny list", r) + e.allowedText(t)
		}
	}
	return "not on the deny list"
}

func rangeText(t *track) string {
	if name, ok := ranges.Special(t.prefix.Netip()); ok {
		return "in a range without clients of its own: " + name
	}
	return "a public range"
}

func (e *Engine) allowedText(t *track) string {
	if r, ok := ranges.Covering(e.rules.Guards.Allow, t.prefix.Netip()); ok {
		return fmt.Sprintf(", allowed by %s", r)
	}
	return ""
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// percent prints a share as "20.0 %".
func percent(share float64, digits int) string { return fmt.Sprintf("%.*f %%", digits, 100*share) }

func millis(us float64) string { return fmt.Sprintf("%.1f ms", us/1000) }

// rateText prints bytes per second in kB/s (1 kB = 1000 bytes), to at least three digits.
func rateText(bytesPerS float64) string {
	digits := 0
	if bytesPerS < 100_000 {
		digits = 1
	}
	return fmt.Sprintf("%.*f kB/s", digits, bytesPerS/1000)
}

func timeText(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04:05Z") }

func clockText(unix int64) string { return time.Unix(unix, 0).UTC().Format("01-02 15:04:05") }

// durationText prints seconds as "30 min" or "24 h".
func durationText(s int64) string {
	switch {
	case s >= 3600 && s%3600 == 0:
		return fmt.Sprintf("%d h", s/3600)
	case s >= 60 && s%60 == 0:
		return fmt.Sprintf("%d min", s/60)
	}
	return fmt.Sprintf("%d s", s)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
