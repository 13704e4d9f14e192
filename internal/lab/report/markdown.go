package report

import (
	"bytes"
	_ "embed" // the text
	"fmt"
	"strings"
	"text/template"
)

//go:embed report.md.tmpl
var markdownText string

var markdownTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"cell": strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace,
	"text": strings.NewReplacer("<", "&lt;").Replace,
	"code": strings.NewReplacer("```", "` ` `").Replace, // which would end the block
}).Parse(markdownText))

// markdown is the report as text, for a pull request or a mail.
func markdown(f *Folder) ([]byte, error) {
	var b bytes.Buffer
	if err := markdownTemplate.Execute(&b, page{newView(&f.Summary), f}); err != nil {
		return nil, fmt.Errorf("fill text: %w", err)
	}
	return b.Bytes(), nil
}

// Table has the headings and the rows, with nothing for missing values.
func (v *view) Table() [][]string { return v.rows(v.shown, "") }

// Reading explains how to read the table.
func (v *view) Reading() []string {
	text := []string{"Median [95 % interval] over the runs of a cell. Rates count payload at the receiver."}
	if len(v.Scenario.Arms) > 1 {
		text = append(text, "Ratio: goodput divided by that of "+v.Scenario.Arms[0].Name+" in the same group. Under 5 % is a tie; \"best?\" means overlapping intervals, or one run a side.")
	}
	text = append(text, "INVALID: a run failed a gate, so the cell has no number.")
	for _, g := range v.Groups {
		for _, l := range g.Rows {
			if l.sized() && l.ended() {
				return append(text, "A time with > was cut by the scenario's time limit; compare such cells by goodput only.")
			}
		}
	}
	return text
}
