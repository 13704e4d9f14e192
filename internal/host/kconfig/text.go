package kconfig

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes a report for people: where it is from, a line for each feature, then each
// symbol that is not there with its reason.
func (r *Report) Table(w io.Writer) error {
	for _, s := range r.Sources {
		note := s.Proves
		if !s.Used {
			note = "not used: " + s.Note
		}
		fmt.Fprintf(w, "%s: %s\n", s.Path, note)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nFEATURE\tVERDICT\tAS\tFOR")
	for _, f := range r.Features {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Feature, f.Verdict, cmp.Or(f.As, "-"), f.About)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.faults(w)
}

func (r *Report) faults(w io.Writer) error {
	var missing []string
	var b strings.Builder
	for _, f := range r.Features {
		for _, s := range f.Symbols {
			if s.Verdict != OK {
				fmt.Fprintf(&b, "%s: %s %s (%s), wanted %s: %s\n", f.Feature, s.Symbol, s.Verdict, s.About, s.Want, s.Why)
			}
		}
		if f.Verdict == Missing {
			missing = append(missing, f.Feature)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "try: congctl host kernel fragment --for generic --feature %s\n", strings.Join(missing, ","))
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(w, "\n"+b.String())
	return err
}

// DifferenceTable writes a comparison for people.
func DifferenceTable(w io.Writer, list []Difference) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SYMBOL\tASKED\tGOT\tVERDICT\tWHY")
	for _, d := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", d.Symbol, d.Asked, d.Got, d.Verdict, cmp.Or(d.Why, "-"))
	}
	return t.Flush()
}
