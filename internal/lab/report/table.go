package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/lab/outcome"
)

// Table prints a summary for a terminal of that many columns; 0: no limit. If it is too
// narrow, the least important columns are left out.
func Table(w io.Writer, s *outcome.Summary, width int) error {
	v := newView(s)
	shown := v.shown
	text := v.table(shown)
	for width > 0 && widest(text) > width {
		least := slices.MinFunc(shown, func(a, b column) int { return a.keep - b.keep })
		if least.keep == always {
			break
		}
		shown = slices.DeleteFunc(shown, func(c column) bool { return c.keep == least.keep })
		text = v.table(shown)
	}
	var b strings.Builder
	b.WriteString(text)
	for _, sentence := range v.Headline() {
		b.WriteString("\n" + wrap(sentence, width, 2))
	}
	b.WriteString("\n")
	for _, exemption := range v.Exemptions() {
		b.WriteString(wrap(exemption, width, 2) + "\n")
	}
	for _, r := range v.Broken() {
		fmt.Fprintf(&b, "\nINVALID %s: %d of %d runs\n", r.Cell, r.Invalid, r.Runs)
		for _, reason := range r.Reasons {
			b.WriteString("  " + wrap(reason, width, 2) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table is the summary as text.
func (v *view) table(shown []column) string {
	rows := v.rows(shown, "-")
	for i, head := range rows[0] {
		rows[0][i] = strings.ReplaceAll(strings.ToUpper(head), " ", "-")
	}
	var b strings.Builder // which does not fail
	answer.Table(&b, strings.Join(rows[0], " "), rows[1:])
	return b.String()
}

// rows returns the table's heading and lines, with empty for missing values.
func (v *view) rows(shown []column, empty string) [][]string {
	row := func(text func(column) string) (parts []string) {
		for _, c := range shown {
			parts = append(parts, cmp.Or(text(c), empty))
		}
		return parts
	}
	rows := [][]string{row(func(c column) string { return c.head })}
	for _, g := range v.Groups {
		for _, l := range g.Rows {
			rows = append(rows, row(func(c column) string { return c.text(g, l) }))
		}
	}
	return rows
}

func widest(text string) (n int) {
	for s := range strings.SplitSeq(text, "\n") {
		n = max(n, utf8.RuneCountInString(s))
	}
	return n
}

// wrap breaks a sentence at spaces, and indents later lines.
func wrap(s string, width, indent int) string {
	if width < 40 {
		return s
	}
	var b strings.Builder
	at := indent
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		if i > 0 && at+1+n > width {
			b.WriteString("\n" + strings.Repeat(" ", 2*indent))
			at = 2 * indent
		} else if i > 0 {
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// invalid are the rows that have reasons instead of numbers.
func (v *view) Broken() (rows []*outcome.Row) {
	for i := range v.Rows {
		if r := &v.Rows[i]; r.Invalid > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}
