package effects

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
)

// Text writes the answer for people, its tables cut to a width of so many columns; 0: not cut.
func (v *View) Text(w io.Writer, width int) error {
	var b strings.Builder
	v.head(&b)
	table(&b, v.Estimates, width)
	v.verdicts(&b)
	if len(v.AA) > 0 {
		b.WriteString("\nA/A networks, never treated, must show no effect:\n")
		table(&b, v.AA, width)
		for _, e := range v.AA {
			if e.Suspect {
				fmt.Fprintf(&b, "%s: the interval excludes 1. One in twenty does by chance; if it persists, do not trust the effect above\n", e.Metric)
			}
		}
	}
	v.tally(&b)
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "\nfinding  %s\n    fix  %s\n", f.Text, f.Fix)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (v *View) head(b *strings.Builder) {
	if v.Label != "" {
		fmt.Fprintf(b, "%s: before and after %s at %s, from %s to %s, untreated connections of the same networks\nCONFOUNDED: %s\n\n",
			v.PoP, v.Label, answer.Stamp(v.ChangeAt), answer.Stamp(v.From), answer.Stamp(v.To), v.Confounded)
		return
	}
	fmt.Fprintf(b, "%s: %s against the default, from %s to %s, %s in pairs of blocks, by intention to treat\n\n",
		v.PoP, v.Treatment, answer.Stamp(v.From), answer.Stamp(v.To), answer.Count(v.Networks, "network"))
}

func table(b *strings.Builder, list []Estimate, width int) {
	if len(list) == 0 {
		b.WriteString("nothing to compare yet\n")
		return
	}
	var rows [][]string
	for _, e := range list {
		of := e.Of
		switch {
		case e.By == "":
			of = "all"
		case of == "":
			of = "-"
		}
		cells := []string{"-", "-", "-"}
		for i, r := range e.Ratios {
			cells[i] = ratio(r.Ratio, r.Low, r.High)
		}
		rows = append(rows, slices.Concat([]string{e.Metric, of, fmt.Sprint(e.Pairs)}, cells, []string{e.Method}))
	}
	_ = answer.Table(answer.Fit(b, width), "METRIC OF PAIRS P5 P10 P50 INTERVAL", rows) // a Builder takes all
}

// ratio prints "x1.41 (1.20-1.66)", or without bounds if there are none.
func ratio(r, low, high float64) string {
	if low == 0 && high == 0 {
		return fmt.Sprintf("x%.2f", r)
	}
	return fmt.Sprintf("x%.2f (%.2f-%.2f)", r, low, high)
}

func (v *View) verdicts(b *strings.Builder) {
	if v.Overall == nil && v.HoldOut == nil && v.Before == nil {
		return
	}
	b.WriteString("\n")
	v.Overall.text(b, "overall   mean delivery rate")
	v.Busy.text(b, "          mean goodput over busy time")
	if c := v.Cost; c != nil {
		fmt.Fprintf(b, "cost      retransmitted %.2f %% instead of %.2f %%; in queues %.1f ms instead of %.1f ms (srtt - min_rtt)\n",
			100*c.TreatmentRetrans, 100*c.ControlRetrans, c.TreatmentQueueUs/1000, c.ControlQueueUs/1000)
	}
	if c := v.Cap; c != nil {
		fmt.Fprintf(b, "cap       %s of %s\n", c.Text(), answer.Count(c.Networks, "network"))
	}
	if h := v.HoldOut; h != nil {
		if h.Why != "" {
			fmt.Fprintf(b, "hold-out  no estimate: %s (%d and %d)\n", h.Why, h.Held, h.Open)
		} else {
			fmt.Fprintf(b, "hold-out  %s of %s against %d held out\n", ratio(h.Ratio, h.Low, h.High), answer.Count(h.Open, "network"), h.Held)
		}
	}
	if t := v.Taken; t != nil {
		fmt.Fprintf(b, "others    %s\n", t.Text())
	}
	if a := v.Before; a != nil {
		fmt.Fprintf(b, "before    against the 3 h before: treated blocks x%.2f, untreated blocks x%.2f, %s; %s\n", a.Treated, a.Untreated,
			answer.Count(a.Networks, "network"), a.Note)
	}
}

func (o *Overall) text(b *strings.Builder, of string) {
	if o == nil {
		return
	}
	fmt.Fprintf(b, "%s %s over %s", of, ratio(o.Ratio, o.Low, o.High), answer.Count(o.Pairs, "pair"))
	switch {
	case o.Low != 0:
		b.WriteString("; these bounds hold at every look\n")
	case o.In > 0:
		fmt.Fprintf(b, "; bounds in about %s if pairs come like this\n", answer.About(o.In))
	default:
		b.WriteString("; too few networks for bounds\n")
	}
}

func (v *View) tally(b *strings.Builder) {
	r := v.Responses
	if r == nil {
		return
	}
	all := float64(max(r.Matched+r.Unmatched, 1))
	fmt.Fprintf(b, "\nresponses %d, unmatched %.1f %%", r.Matched+r.Unmatched, 100*float64(r.Unmatched)/all)
	reasons := make([]string, 0, len(r.UnmatchedFor))
	for name := range r.UnmatchedFor {
		reasons = append(reasons, name)
	}
	slices.SortFunc(reasons, func(x, y string) int {
		return int(r.UnmatchedFor[y]) - int(r.UnmatchedFor[x])
	})
	for i, name := range reasons {
		reasons[i] = fmt.Sprintf("%s %.1f %%", name, 100*float64(r.UnmatchedFor[name])/all)
	}
	if len(reasons) > 0 {
		fmt.Fprintf(b, " (%s)", strings.Join(reasons, ", "))
	}
	fmt.Fprintf(b, "; small %d, on connections of an earlier block %d, over within a round trip %d; unreadable lines %d\n",
		r.Small, r.Carryover, r.Buffered, r.BadLines)
	if r.LostRows > 0 || r.DroppedValues > 0 {
		fmt.Fprintf(b, "lost      %d rows in a crash, %d values for lack of room\n", r.LostRows, r.DroppedValues)
	}
}
