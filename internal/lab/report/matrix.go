package report

import (
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/app/lab/plot"
	"github.com/congctl/congctl/internal/core/outcome"
)

// The matrix as a heat map: one arm's goodput divided by the first arm's, in each
// group. The axis with the most values lies across; what is left names the rows.

// steps are the ratios at which the colour changes, and their inverses where the arm
// loses: under 5 % is a tie, as everywhere; then each is a factor of about four.
var steps = []float64{1.05, 1.5, 5, 20}

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

// heat draws arm against the first one; nil where there is no matrix, or no group has both.
func (v *view) heat(arm string) *plot.Heat {
	across := v.widestAxis()
	base := v.Scenario.Arms[0].Name
	h := &plot.Heat{Title: "Goodput of " + arm + " divided by that of " + base + ", in each group", Width: wide, XLabel: across}
	some := false
	for _, g := range v.groups {
		column, row := g.place(across)
		j, i := index(&h.Columns, column), index(&h.Rows, row)
		for len(h.Cells) <= i {
			h.Cells = append(h.Cells, nil)
		}
		for len(h.Cells[i]) <= j {
			h.Cells[i] = append(h.Cells[i], plot.HeatCell{None: true})
		}
		h.Cells[i][j] = g.heatCell(arm, base)
		some = some || !h.Cells[i][j].None
	}
	if !some || len(v.groups) < 2 {
		return nil
	}
	words := map[int]string{-1: base + " better", 0: "within 5 %", len(steps): arm + " better"}
	for n := -len(steps); n <= len(steps); n++ {
		h.Keys = append(h.Keys, plot.HeatKey{Step: n, Text: words[n]})
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
	values := map[string][]string{}
	var order []string
	for _, g := range v.groups {
		for _, a := range g.rows[0].cell.Axes {
			if values[a.Name] == nil {
				order = append(order, a.Name)
			}
			if !slices.Contains(values[a.Name], a.Value) {
				values[a.Name] = append(values[a.Name], a.Value)
			}
		}
	}
	for _, n := range order {
		if name == "" || len(values[n]) > len(values[name]) {
			name = n
		}
	}
	return name
}

// place gives a group's column and the name of its row.
func (g *group) place(across string) (column, row string) {
	var rest []string
	for _, a := range g.rows[0].cell.Axes {
		if a.Name == across {
			column = a.Value
		} else {
			rest = append(rest, a.Name+" "+a.Value)
		}
	}
	return column, strings.Join(rest, ", ")
}

func (g *group) heatCell(arm, base string) plot.HeatCell {
	for _, l := range g.rows {
		if (l.Arm == arm || l.Arm == base) && !valid(l.Row) {
			return plot.HeatCell{Text: invalidWord(l.Row), Title: l.Cell + ": " + strings.Join(l.Reasons, "; "), None: true}
		}
	}
	for _, l := range g.rows {
		if l.Arm == arm && l.Ratio != nil {
			return plot.HeatCell{Text: number(l.Ratio.Median) + "x", Step: step(l.Ratio.Median), Title: ratioTitle(l.Row)}
		}
	}
	return plot.HeatCell{Text: "-", None: true}
}

func ratioTitle(r *outcome.Row) string {
	kind := "unpaired"
	if r.Paired {
		kind = "paired"
	}
	return r.Cell + ": " + span(r.Ratio, 1) + " times, " + kind
}
