package popreport

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/core/popday"
)

var cellEscaper = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")

// markdown is the report as text, for a mail or a pull request.
func markdown(r *popday.Report) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", r.Day, r.About)
	if r.Notes != "" {
		b.WriteString("\n" + strings.TrimSpace(r.Notes) + "\n")
	}
	for _, p := range parts(r) {
		fmt.Fprintf(&b, "\n## %s\n", p.Title)
		for _, w := range p.Words {
			b.WriteString("\n" + cellEscaper.Replace(w) + "\n")
		}
		for _, t := range p.Tables {
			t.markdown(&b)
		}
	}
	return []byte(b.String())
}

func (t *table) markdown(b *strings.Builder) {
	if t.Title != "" {
		fmt.Fprintf(b, "\n### %s\n", t.Title)
	}
	if t.Note != "" {
		b.WriteString("\n" + t.Note + "\n")
	}
	b.WriteString("\n")
	for i, row := range t.Rows {
		for _, text := range row {
			b.WriteString("| " + cellEscaper.Replace(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}
