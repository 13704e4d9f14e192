package report

import (
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/outcome"
)

// The matrix as a heat map: one arm's goodput divided by the first arm's, in each group.
// The axis with the most values is horizontal; the others name the rows.

// steps are the ratios at which the colour changes, and their inverses where the arm
// loses: under 5 % is a tie, as everywhere; then each is a factor of about four.
var steps = []float64{1.05, 1.5, 5, 20}

// heat is a table whose cells are coloured.
type heat struct {
	Label   string // for screen readers
	Across  string // the horizontal axis
	Columns []string
	Rows    []heatRow
	Keys    []heatCell // what the colours mean, lowest first
}

type heatRow struct {
	Name  string
	Cells []heatCell
}

// heatCell has a colour, "l4" to "h4", or "none".
type heatCell struct{ Text, Title, Class string }

// colours by step, from -4 to 4.
var colours = [...]string{"l4", "l3", "l2", "l1", "h0", "h1", "h2", "h3", "h4"}

func colour(step int) string { return colours[step+len(steps)] }

func step(ratio float64) int {
	if ratio < 1 {
		return -step(1 / ratio)
	}
	n := 0
	for n < len(steps) && ratio >= steps[n] {
		n++
	}
	return n
}

// heat draws arm against the first one; nil if there is no matrix, or no group has both.
func (v *view) heat(arm string) *heat {
	across := v.widestAxis()
	base := v.Scenario.Arms[0].Name
	h := &heat{Label: "Goodput of " + arm + " divided by that of " + base + ", in each group", Across: across}
	var rows []string
	some := false
	for _, g := range v.Groups {
		column, row := g.place(across)
		j, i := index(&h.Columns, column), index(&rows, row)
		if i == len(h.Rows) {
			h.Rows = append(h.Rows, heatRow{Name: row})
		}
		r := &h.Rows[i]
		for len(r.Cells) <= j {
			r.Cells = append(r.Cells, heatCell{Class: "none"})
		}
		r.Cells[j] = g.heatCell(arm, base)
		some = some || r.Cells[j].Class != "none"
	}
	if !some || len(v.Groups) < 2 {
		return nil
	}
	words := map[int]string{-1: base + " better", 0: "within 5 %", len(steps): arm + " better"}
	for n := -len(steps); n <= len(steps); n++ {
		h.Keys = append(h.Keys, heatCell{Text: words[n], Class: colour(n)})
	}
	return h
}

// index finds s in a list, and appends it where it is new.
func index(list *[]string, s string) int {
	if i := slices.Index(*list, s); i >= 0 {
		return i
	}
	*list = append(*list, s)
	return len(*list) - 1
}

// widestAxis is the axis with the most values, the first of several.
func (v *view) widestAxis() (name string) {
	values := map[string]map[string]bool{}
	var order []string
	for _, g := range v.Groups {
		for _, a := range g.Rows[0].cell.Axes {
			if values[a.Name] == nil {
				order = append(order, a.Name)
				values[a.Name] = map[string]bool{}
			}
			values[a.Name][a.Value] = true
		}
	}
	for _, n := range order {
		if len(values[n]) > len(values[name]) {
			name = n
		}
	}
	return name
}

// place returns a group's column and the name of its row.
func (g *group) place(across string) (column, row string) {
	var rest []string
	for _, a := range g.Rows[0].cell.Axes {
		if a.Name == across {
			column = a.Value
		} else {
			rest = append(rest, a.Name+" "+a.Value)
		}
	}
	return column, strings.Join(rest, ", ")
}

func (g *group) heatCell(arm, base string) heatCell {
	for _, l := range g.Rows {
		if (l.Arm == arm || l.Arm == base) && !valid(l.Row) {
			return heatCell{invalidWord(l.Row), l.Cell + ": " + strings.Join(l.Reasons, "; "), "none"}
		}
	}
	for _, l := range g.Rows {
		if l.Arm == arm && l.Ratio != nil {
			return heatCell{number(l.Ratio.Median) + "x", ratioTitle(l.Row), colour(step(l.Ratio.Median))}
		}
	}
	return heatCell{Text: "-", Class: "none"}
}

func ratioTitle(r *outcome.Row) string {
	kind := "unpaired"
	if r.Paired {
		kind = "paired"
	}
	return r.Cell + ": " + span(r.Ratio, 1) + " times, " + kind
}
