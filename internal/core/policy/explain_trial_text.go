package policy

import (
	"fmt"
	"strings"
)

// experimentText prints what an Explanation says of the trial.
func (x Explanation) experimentText(b *strings.Builder) {
	t := x.Experiment
	if t == nil {
		return
	}
	fmt.Fprintf(b, "\nExperiment (rates: treatment / control)\n")
	if t.Until > 0 {
		fmt.Fprintf(b, "  cools down     until %s\n", timeText(t.Until))
	}
	if t.Retired > 0 {
		fmt.Fprintf(b, "  retired        %d in a row\n", t.Retired)
	}
	if t.From > 0 {
		fmt.Fprintf(b, "  evidence from  %s\n", timeText(t.From))
	}
	if t.Budget > 0 {
		fmt.Fprintf(b, "  trial until    %s, if nothing shows before\n", timeText(t.Budget))
	}
	t.evidenceText(b)
	if len(t.Pairs) > 0 {
		fmt.Fprintf(b, "  %-14s %8s %21s %21s %19s\n", "group from", "rate x", "treatment kB/s (n)", "control kB/s (n)", "retransmitted T, C")
	}
	for _, p := range t.Pairs {
		fmt.Fprintf(b, "  %s %8.2f %21s %21s %19s\n", clockText(p.Start), p.Rate, sideText(p.TBytesPerS, p.TConns), sideText(p.CBytesPerS, p.CConns),
			percent(p.TRetransShare, 1)+", "+percent(p.CRetransShare, 1))
	}
}

func (t *Experiment) evidenceText(b *strings.Builder) {
	if t.Needed == 0 {
		return
	}
	if t.Rate == 0 {
		fmt.Fprintf(b, "  effect         not known: %s, two needed\n", count(len(t.Pairs), "pair"))
		return
	}
	bounds := "no bounds yet"
	if t.High > 0 {
		bounds = fmt.Sprintf("%.2f to %.2f (95 %%, whenever it is looked at)", t.Low, t.High)
	}
	fmt.Fprintf(b, "  effect         rate x %.2f, %s\n", t.Rate, bounds)
	fmt.Fprintf(b, "  evidence       of benefit 10^%.1f, of harm 10^%.1f (10^%.1f needed by one prefix alone)\n", t.Benefit, t.Harm, t.Needed)
	fmt.Fprintf(b, "  noise          %.2f between blocks, %.2f between connections (of ln rate)\n", t.NoiseBlock, t.NoiseConn)
}

func sideText(bytesPerS float64, n int) string { return fmt.Sprintf("%.1f (%d)", bytesPerS/1000, n) }
