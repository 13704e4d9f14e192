package report

import (
	"fmt"
	"slices"
	"strings"
)

var cellEscaper = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")

// markdown is the report as text, for a pull request or a mail.
func markdown(f *Folder) ([]byte, error) {
	v := newView(&f.Summary)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", v.Scenario.Name, v.Scenario.About)
	for _, sentence := range slices.Concat(v.headline(), v.exemptions()) {
		fmt.Fprintf(&b, "- %s\n", cellEscaper.Replace(sentence))
	}
	if v.Scenario.Notes != "" {
		b.WriteString("\n" + strings.TrimSpace(v.Scenario.Notes) + "\n")
	}
	b.WriteString("\n## Results\n\n")
	markdownRows(&b, v.rows(v.shown(), ""))
	b.WriteString("\n" + strings.Join(v.reading(), "\n") + "\n")
	v.published.markdown(&b)
	if rows := v.invalid(); len(rows) > 0 {
		b.WriteString("\n## INVALID\n")
		for _, r := range rows {
			fmt.Fprintf(&b, "\n**%s**, %d of %d runs:\n\n", r.Cell, r.Invalid, r.Runs)
			for _, reason := range r.Reasons {
				fmt.Fprintf(&b, "- %s\n", cellEscaper.Replace(reason))
			}
		}
	}
	b.WriteString("\n## Run it again\n\n```\n" + strings.Join(f.Manifest.again(), "\n") + "\n```\n\n| | |\n|---|---|\n")
	for _, x := range f.Manifest.facts() {
		fmt.Fprintf(&b, "| %s | %s |\n", x.Name, cellEscaper.Replace(x.Value))
	}
	return []byte(b.String()), nil
}

// markdownRows writes a table whose first row is the heading.
func markdownRows(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		for _, text := range row {
			b.WriteString("| " + cellEscaper.Replace(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}

func (b *beside) markdown(out *strings.Builder) {
	if b == nil {
		return
	}
	fmt.Fprintf(out, "\n## Published values\n\n%s: %s\n\n%s.\n\n", b.Name, b.Source, b.Shape.Text)
	markdownRows(out, b.table())
}

// reading says how to read the table.
func (v *view) reading() []string {
	text := []string{"Median [95 % interval] over the runs of a cell. Rates count payload at the receiver."}
	if len(v.Scenario.Arms) > 1 {
		text = append(text, "Ratio: goodput divided by that of "+v.Scenario.Arms[0].Name+" in the same group. Under 5 % is a tie; \"best?\" has intervals that overlap, or one run a side.")
	}
	text = append(text, "INVALID: a run broke a gate, so the cell has no number.")
	for _, g := range v.groups {
		for _, l := range g.rows {
			if l.sized() && l.ended() {
				return append(text, "A time with > was ended by the scenario's time limit, and compares by goodput only.")
			}
		}
	}
	return text
}
