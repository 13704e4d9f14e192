package report

import (
	"fmt"
	"strings"
)

var cellEscaper = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")

// markdown is the report as text, for a pull request or a mail.
func markdown(f *Folder) ([]byte, error) {
	v := newView(&f.Summary)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", v.Scenario.Name, v.Scenario.About)
	for _, sentence := range v.headline() {
		fmt.Fprintf(&b, "- %s\n", sentence)
	}
	b.WriteString("\n## Results\n\n")
	v.markdownTable(&b)
	b.WriteString("\n" + strings.Join(v.reading(), "\n") + "\n")
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

func (v *view) markdownTable(b *strings.Builder) {
	shown := v.shown()
	row := func(text func(column) string) {
		for _, c := range shown {
			b.WriteString("| " + cellEscaper.Replace(text(c)) + " ")
		}
		b.WriteString("|\n")
	}
	row(func(c column) string { return c.head })
	row(func(column) string { return "---" })
	for _, g := range v.groups {
		for _, l := range g.rows {
			row(func(c column) string { return c.text(g, l) })
		}
	}
}

// reading says how to read the table.
func (v *view) reading() []string {
	text := []string{"Median [95 % interval] over the runs of a cell. Rates count payload at the receiver."}
	if len(v.Scenario.Arms) > 1 {
		text = append(text, "Ratio: goodput divided by that of "+v.Scenario.Arms[0].Name+" in the same group. Under 5 % is a tie; \"best?\" has intervals that overlap.")
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
