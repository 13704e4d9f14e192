package kconfig

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/congctl/congctl/internal/answer"
)

// Table prints a report for people: its source, a line for each feature, then each absent
// symbol with the reason.
func (r *Report) Table(w io.Writer) error {
	for _, s := range r.Sources {
		note := s.Proves
		if !s.Used {
			note = "not used: " + s.Note
		}
		fmt.Fprintf(w, "%s: %s\n", s.Path, note)
	}
	fmt.Fprintln(w)
	var rows [][]string
	var missing []string
	var b strings.Builder
	for _, f := range r.Features {
		rows = append(rows, []string{f.Feature, f.Verdict, cmp.Or(f.As, "-"), f.About})
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
	err := answer.Table(w, "FEATURE VERDICT AS FOR", rows)
	if b.Len() > 0 {
		fmt.Fprintf(w, "\n%s", &b)
	}
	return err
}

// DifferenceTable prints a comparison for people.
func DifferenceTable(w io.Writer, list []Difference) error {
	var rows [][]string
	for _, d := range list {
		rows = append(rows, []string{d.Symbol, string(d.Asked), string(d.Got), d.Verdict, cmp.Or(d.Why, "-")})
	}
	return answer.Table(w, "SYMBOL ASKED GOT VERDICT WHY", rows)
}
