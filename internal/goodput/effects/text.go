package effects

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Text writes the answer for people.
func (v *View) Text(w io.Writer) error {
	var b strings.Builder
	v.head(&b)
	table(&b, v.Estimates)
	v.verdicts(&b)
	if len(v.AA) > 0 {
		b.WriteString("\nA/A, where nothing was done, must show nothing:\n")
		table(&b, v.AA)
		for _, e := range v.AA {
			if e.Suspect {
				fmt.Fprintf(&b, "%s: the interval leaves out 1. One in twenty does; if it stays, do not believe the effect above\n", e.Metric)
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
			v.PoP, v.Label, stamp(v.ChangeAt), stamp(v.From), stamp(v.To), v.Confounded)
		return
	}
	fmt.Fprintf(b, "%s: %s against the default, from %s to %s, %s in pairs of blocks, by intention to treat\n\n",
		v.PoP, v.Treatment, stamp(v.From), stamp(v.To), count(v.Networks, "network"))
}

func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02T15:04:05Z") }

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func table(b *strings.Builder, list []Estimate) {
	if len(list) == 0 {
		b.WriteString("nothing to compare yet\n")
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "METRIC\tOF\tPAIRS\tP5\tP10\tP50\tINTERVAL")
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
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\n", e.Metric, of, e.Pairs, strings.Join(cells, "\t"), e.Method)
	}
	t.Flush()
}

// ratio prints "x1.41 (1.20-1.66)", or without bounds where there are none.
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
	if o := v.Overall; o != nil {
		fmt.Fprintf(b, "overall   mean delivery rate %s over %s", ratio(o.Ratio, o.Low, o.High), count(o.Pairs, "pair"))
		if o.Low != 0 {
			b.WriteString("; these bounds hold however often one looks\n")
		} else {
			b.WriteString("; too few for bounds\n")
		}
	}
	if c := v.Cost; c != nil {
		fmt.Fprintf(b, "cost      retransmitted %.2f %% instead of %.2f %%; in queues %.1f ms instead of %.1f ms (srtt - min_rtt)\n",
			100*c.TreatmentRetrans, 100*c.ControlRetrans, c.TreatmentQueueUs/1000, c.ControlQueueUs/1000)
	}
	if h := v.HoldOut; h != nil {
		if h.Why != "" {
			fmt.Fprintf(b, "hold-out  no estimate: %s (%d and %d)\n", h.Why, h.Held, h.Open)
		} else {
			fmt.Fprintf(b, "hold-out  %s of %s against %d held out\n", ratio(h.Ratio, h.Low, h.High), count(h.Open, "network"), h.Held)
		}
	}
	if a := v.Before; a != nil {
		fmt.Fprintf(b, "before    treated blocks x%.2f, untreated blocks x%.2f of the 3 h before, %s; %s\n", a.Treated, a.Untreated,
			count(a.Networks, "network"), a.Note)
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
	fmt.Fprintf(b, "; small %d, on connections switched before %d, over within a round trip %d; lines not understood %d\n",
		r.Small, r.Carryover, r.Buffered, r.BadLines)
	if r.LostRows > 0 || r.DroppedValues > 0 {
		fmt.Fprintf(b, "lost      %d rows in a crash, %d values for want of room\n", r.LostRows, r.DroppedValues)
	}
}
