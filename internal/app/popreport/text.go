package popreport

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/congctl/congctl/internal/core/popday"
)

// Text prints a short summary for a terminal.
func Text(w io.Writer, r *popday.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s\n", r.Day, r.About, strings.Join(head(r).Words, "\n"))
	for _, l := range r.Runs {
		if !l.Valid {
			fmt.Fprintf(&b, "INVALID %s-%d: %s\n", l.Policy, l.Seed, strings.Join(l.Broken, "; "))
		}
	}
	b.WriteString("\n" + align(brief(r)))
	if e := effectPart(r); len(e.Tables) > 0 {
		b.WriteString("\n" + align(columns(e.Tables[0].Rows, 0, 1, 2, 3, 4, 5, 6)))
	}
	for i := range r.Stories {
		s := &r.Stories[i]
		b.WriteString("\n" + storyWords(s) + "\n")
		if len(s.Spans) > 0 {
			b.WriteString(align(columns(spanTable(s).Rows, 0, 1, 2, 3, 4)))
		}
	}
	b.WriteString("\n")
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "%-4s %-2s %s: %s\n", answerWord[v.Answer], v.ID, v.Claim, v.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var answerWord = map[popday.Answer]string{popday.Yes: "yes", popday.No: "NO", popday.Unknown: "?"}

// brief is the widest table cut to what a terminal has room for.
func brief(r *popday.Report) [][]string {
	rows := [][]string{{"policy", "seeds", "p5 Mbit/s", "p10 Mbit/s", "p50 Mbit/s", "p10 ratio", "of " + word(r.Comparison.Treatment) + "'s gain", "late", "resent", "helped", "harmed"}}
	for i := range r.Comparison.Policies {
		p := &r.Comparison.Policies[i]
		if len(p.Seeds) == 0 {
			rows = append(rows, invalidRow(p.Policy, len(rows[0])))
			continue
		}
		g := &p.Large
		rows = append(rows, []string{p.Policy, numbers(p.Seeds), rate(g.P5.BytesPerS), rate(g.P10.BytesPerS), rate(g.P50.BytesPerS), span(g.P10.Ratio),
			percent(p.GainShare), percent(p.GainShareLate), fmt.Sprintf("%.2f %%", 100*p.Cost.RetransShare), fmt.Sprint(p.Helped), fmt.Sprint(p.Harmed)})
	}
	return rows
}

func columns(rows [][]string, keep ...int) (out [][]string) {
	for _, r := range rows {
		var row []string
		for _, i := range keep {
			row = append(row, r[i])
		}
		out = append(out, row)
	}
	return out
}

// align sets rows in columns, two spaces apart, the heading in capitals.
func align(rows [][]string) string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, r := range rows {
		line := strings.Join(r, "\t")
		if i == 0 {
			line = strings.ToUpper(line)
		}
		fmt.Fprintln(t, line)
	}
	t.Flush() // to a bytes.Buffer, which does not fail
	return b.String()
}
