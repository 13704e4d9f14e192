package popreport

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/popday"
)

var (
	cellEscaper = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	textEscaper = strings.NewReplacer("<", "&lt;")
)

// markdown returns the report as text, for a mail or a pull request.
func markdown(r *popday.Report) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n%s\n", cellEscaper.Replace(r.Day), textEscaper.Replace(r.About), textEscaper.Replace(headline(r)))
	first := firstTable(r)
	first.markdown(&b)
	all, err := parts(r)
	for _, p := range all {
		fmt.Fprintf(&b, "\n## %s\n", cellEscaper.Replace(p.Title))
		for _, w := range p.Words {
			b.WriteString("\n" + cellEscaper.Replace(w) + "\n")
		}
		for _, t := range p.Tables {
			t.markdown(&b)
		}
	}
	return []byte(b.String()), err
}

func (t *table) markdown(b *strings.Builder) {
	if t.Title != "" {
		fmt.Fprintf(b, "\n### %s\n", cellEscaper.Replace(t.Title))
	}
	if t.Note != "" {
		b.WriteString("\n" + textEscaper.Replace(t.Note) + "\n")
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
