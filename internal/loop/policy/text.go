package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/tcp/ranges"
)

// guardText prints a guard's value against its limit, and since when a held guard holds.
func (e *Engine) guardText(g Guard, t *track, p Pool) string {
	text := e.valueText(g, t, p)
	if g.State == GuardHeld {
		last, _ := e.hitLately(t, g.Name)
		text += fmt.Sprintf("; last hit in the window of %s, held until %s in a row have no hit", timeText(e.start(last)),
			answer.Count(e.rules.MinKnown, "known window"))
	}
	return text
}

func (e *Engine) valueText(g Guard, t *track, p Pool) string {
	r := e.rules.Guards
	back := durationText(e.rules.LookbackSeconds)
	switch {
	case g.Name == GuardNever:
		return e.neverText(t)
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
		return fmt.Sprintf("median min_rtt %s (limit %s, or %s with any loss), %s retransmitted (limit %s)",
			millis(p.MinRTTUs), millis(r.LowRTTUs), millis(r.TinyRTTUs), percent(p.RetransShare, 2), percent(r.LowRTTRetransShare, 2))
	case g.Name == GuardRwnd:
		return fmt.Sprintf("limited by the client's receive window for %s of the busy time (limit %s)", percent(g.Value, 1), percent(g.Limit, 1))
	case g.Name == GuardBusy:
		return fmt.Sprintf("busy sending for %s of the time (limit: at least %s)", percent(g.Value, 1), percent(g.Limit, 1))
	}
	text := fmt.Sprintf("rate p80/p20 %.2f (flat up to %.2f), %s retransmitted (from %s), bursts %.1f (from %.1f)",
		p.Spread, r.PolicerSpread, percent(p.RetransShare, 1), percent(r.PolicerRetransShare, 1), finite(p.Burst), r.PolicerBurst)
	if g.State == GuardOff && e.rules.Select == SelectBenefit {
		text += "; a class of the signature, no guard, with select: benefit"
	}
	return text
}

func (e *Engine) neverText(t *track) string {
	hit := e.never(t)
	if len(hit) == 0 {
		return "not in treatment.never"
	}
	text := fmt.Sprintf("%s is in treatment.never", hit[0].Net)
	if hit[0].Reason != "" {
		text += ": " + hit[0].Reason
	}
	if _, listed := e.isAlways(t.prefix); listed {
		text += ", allowed by treatment.always"
	}
	return text
}

func rangeText(t *track) string {
	if name, ok := ranges.Special(t.prefix.Netip()); ok {
		return "in a range without clients of its own: " + name
	}
	return "a public range"
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

// Text returns the explanation in plain words, one line for each known window and one for
// each run of unknown ones.
func (x Explanation) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", x.Prefix, x.State)
	for _, v := range x.Verdict {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	x.experimentText(&b)
	x.capText(&b)
	x.historyText(&b)
	x.windowsText(&b)
	b.WriteString("\nGuards\n")
	for _, g := range x.Guards {
		fmt.Fprintf(&b, "  %-8s %-11s  %s\n", g.Name, g.State, g.Text)
	}
	return b.String()
}

func (x Explanation) historyText(b *strings.Builder) {
	r := x.Thresholds
	fmt.Fprintf(b, "\nHistory (the last %d known windows of %s, none older than %s)\n",
		r.HistoryWindows, durationText(r.WindowSeconds), durationText(r.MaxAgeSeconds))
	fmt.Fprintf(b, "  known windows  %d (a decision needs %d)\n", x.Known, r.Known())
	duty, flap := fmt.Sprintf("selected from %.2f, released below %.2f", r.SelectDuty, r.ReleaseDuty), fmt.Sprintf("selected up to %.2f", r.SelectFlap)
	if r.Select == SelectBenefit {
		duty, flap = "decides nothing", "decides nothing"
	}
	fmt.Fprintf(b, "  duty cycle     %.2f = %d / %d (%s)\n", x.Duty, x.InGroup, x.Known, duty)
	fmt.Fprintf(b, "  flap rate      %.2f = %d / %d (%s)\n", x.Flap, x.Changes, max(x.Known-1, 0), flap)
	if x.PerfStart != 0 {
		fmt.Fprintf(b, "  performance    %s, last known in the window of %s\n", rateText(x.PerfBytesPerS), timeText(x.PerfStart))
	}
	fmt.Fprintf(b, "  signature      %s\n", signatureText(x.Signature, r))
}

func (x Explanation) windowsText(b *strings.Builder) {
	if len(x.Windows) == 0 {
		return
	}
	fmt.Fprintf(b, "\nWindows (UTC; connections: eligible control connections; kB/s: 1000 bytes per second)\n")
	fmt.Fprintf(b, "  %-14s %11s %9s %10s %10s %11s  %s\n", "start", "connections", "borrowed", "kB/s", "boundary", "rank", "slow")
	for i := 0; i < len(x.Windows); {
		l := x.Windows[i]
		n, last := 1, max(l.Start, l.Last)
		for !l.Known && i+n < len(x.Windows) && !x.Windows[i+n].Known && x.Windows[i+n].Why == l.Why {
			last = max(x.Windows[i+n].Start, x.Windows[i+n].Last)
			n++
		}
		switch run := (last-l.Start)/x.Thresholds.WindowSeconds + 1; {
		case l.Known:
			l.text(b)
		case run == 1:
			fmt.Fprintf(b, "  %s unknown: %s\n", clockText(l.Start), l.Why)
		default:
			fmt.Fprintf(b, "  %s unknown, %d windows until %s: %s\n", clockText(l.Start), run, clockText(last), l.Why)
		}
		i += n
	}
}

func (l WindowLine) text(b *strings.Builder) {
	boundary, in := "-", "no"
	if l.BoundaryBytesPerS > 0 {
		boundary = fmt.Sprintf("%.1f", l.BoundaryBytesPerS/1000)
	}
	if l.InGroup {
		in = "yes"
	}
	fmt.Fprintf(b, "  %s %11d %9d %10.1f %10s %11s  %s\n", clockText(l.Start), l.Own, l.Borrowed, l.PerfBytesPerS/1000,
		boundary, fmt.Sprintf("%d of %d", l.Rank, l.Ranked), in)
}

// experimentText prints what an Explanation says of the trial.
func (x Explanation) experimentText(b *strings.Builder) {
	t := x.Experiment
	if t == nil {
		return
	}
	fmt.Fprintf(b, "\nExperiment (rates: treatment / control)\n")
	line := func(on int64, format string, v any) {
		if on > 0 {
			fmt.Fprintf(b, format, v)
		}
	}
	line(t.Until, "  cools down     until %s\n", timeText(t.Until))
	line(int64(t.Retired), "  retired        %d in a row\n", t.Retired)
	line(t.From, "  evidence from  %s\n", timeText(t.From))
	t.evidenceText(b)
	known := slices.ContainsFunc(t.Pairs, func(p PairLine) bool { return p.Goodput > 0 })
	if len(t.Pairs) > 0 {
		fmt.Fprintf(b, "  %-14s %8s %s%21s %21s %19s\n", "group from", "rate x", column(known, "goodput x"), "treatment kB/s (n)", "control kB/s (n)", "retransmitted T, C")
	}
	for _, p := range t.Pairs {
		goodput := "-"
		if p.Goodput > 0 {
			goodput = fmt.Sprintf("%.2f", p.Goodput)
		}
		fmt.Fprintf(b, "  %s %8.2f %s%21s %21s %19s\n", clockText(p.Start), p.Rate, column(known, goodput), sideText(p.TBytesPerS, p.TConns), sideText(p.CBytesPerS, p.CConns),
			percent(p.TRetransShare, 1)+", "+percent(p.CRetransShare, 1))
	}
}

func (t *Experiment) evidenceText(b *strings.Builder) {
	if t.Needed == 0 {
		return
	}
	if t.Rate == 0 {
		fmt.Fprintf(b, "  effect         not known: %s, at least 2 needed\n", answer.Count(len(t.Pairs), "pair"))
		return
	}
	fmt.Fprintf(b, "  effect         rate x %.2f, %s\n", t.Rate, boundsText(t.Low, t.High))
	if t.Goodput > 0 {
		fmt.Fprintf(b, "                 goodput x %.2f, %s\n", t.Goodput, boundsText(t.GoodputLow, t.GoodputHigh))
	}
	fmt.Fprintf(b, "  evidence       of benefit 10^%.1f; of harm 10^%.1f, shown from 10^%.1f on\n", t.Benefit, t.Harm, t.Needed)
	fmt.Fprintf(b, "  noise          %.2f between blocks, %.2f between connections (of ln rate)\n", t.NoiseBlock, t.NoiseConn)
}

// column is of goodput, which older rows do not know.
func column(known bool, text string) string {
	if !known {
		return ""
	}
	return fmt.Sprintf("%9s ", text)
}

func boundsText(low, high float64) string {
	if high == 0 {
		return "no bounds yet"
	}
	return fmt.Sprintf("%.2f to %.2f (95 %%, valid at any time)", low, high)
}

func sideText(bytesPerS float64, n int) string { return fmt.Sprintf("%.1f (%d)", bytesPerS/1000, n) }
