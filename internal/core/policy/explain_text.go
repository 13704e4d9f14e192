package policy

import (
	"fmt"
	"strings"
)

// Text is the explanation in plain words, one line for each known window and one
// for each run of unknown ones.
func (x Explanation) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", x.Prefix, x.State)
	for _, v := range x.Verdict {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	x.experimentText(&b)
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
	fmt.Fprintf(b, "  known windows  %d (decisions from %d)\n", x.Known, r.MinKnown)
	fmt.Fprintf(b, "  duty cycle     %.2f = %d / %d (in from %.2f, out below %.2f)\n", x.Duty, x.InGroup, x.Known, r.SelectDuty, r.ReleaseDuty)
	fmt.Fprintf(b, "  flap rate      %.2f = %d / %d (in up to %.2f)\n", x.Flap, x.Changes, max(x.Known-1, 0), r.SelectFlap)
	if x.PerfStart != 0 {
		fmt.Fprintf(b, "  performance    %s, last known in the window of %s\n", rateText(x.PerfBytesPerS), timeText(x.PerfStart))
	}
}

func (x Explanation) windowsText(b *strings.Builder) {
	if len(x.Windows) == 0 {
		return
	}
	fmt.Fprintf(b, "\nWindows (UTC; connections: eligible control ones; kB/s: 1000 bytes per second)\n")
	fmt.Fprintf(b, "  %-14s %11s %9s %10s %10s %11s  %s\n", "start", "connections", "borrowed", "kB/s", "boundary", "rank", "in group")
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
