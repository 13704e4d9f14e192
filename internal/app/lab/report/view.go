package report

import (
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
)

// view is a summary made ready to be shown: rows by group, with their cells.
type view struct {
	*outcome.Summary
	groups []group
	arms   map[string]int // place in the scenario, which is the arm's colour everywhere
}

type group struct {
	name   string
	rows   []line
	winner outcome.Winner
}

// line is a row with its cell.
type line struct {
	*outcome.Row
	cell *scenario.Cell
	arm  int
}

func newView(s *outcome.Summary) *view {
	v := &view{Summary: s, arms: map[string]int{}}
	for i, a := range s.Scenario.Arms {
		v.arms[a.Name] = i
	}
	cells := map[string]*scenario.Cell{}
	for i := range s.Scenario.Cells {
		cells[s.Scenario.Cells[i].ID] = &s.Scenario.Cells[i]
	}
	for i := range s.Rows {
		r := &s.Rows[i]
		at := slices.IndexFunc(v.groups, func(g group) bool { return g.name == r.Group })
		if at < 0 {
			at = len(v.groups)
			v.groups = append(v.groups, group{name: r.Group})
		}
		cell := cells[r.Cell]
		if cell == nil {
			cell = new(scenario.Cell) // a summary of another scenario still shows
		}
		v.groups[at].rows = append(v.groups[at].rows, line{r, cell, v.arms[r.Arm]})
	}
	for _, w := range s.Winners {
		if at := slices.IndexFunc(v.groups, func(g group) bool { return g.name == w.Group }); at >= 0 {
			v.groups[at].winner = w
		}
	}
	return v
}

// valid tells whether a row may show a number.
func valid(r *outcome.Row) bool { return r.Invalid == 0 && r.Goodput != nil }

// invalidWord is what stands in the place of numbers.
func invalidWord(r *outcome.Row) string {
	if r.Runs == 0 {
		return "not run"
	}
	return "INVALID"
}

// brokenGates are the names at the start of a row's reasons, "loss, rate".
func brokenGates(r *outcome.Row) string {
	var names []string
	for _, reason := range r.Reasons {
		name, _, _ := strings.Cut(reason, ":")
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// ended tells whether a row's flows were ended by time although they had bytes left,
// so that the time is a lower bound.
func (l line) ended() bool {
	return l.Completed != nil && slices.ContainsFunc(l.cell.Flows, func(f scenario.Flow) bool {
		return f.Bytes > 0 && f.DurationUs > 0 && l.Completed.Median >= 0.999*float64(f.StartUs+f.DurationUs)
	})
}

// sized tells whether a completion time says something: some flow has a size.
func (l line) sized() bool {
	return slices.ContainsFunc(l.cell.Flows, func(f scenario.Flow) bool { return f.Bytes > 0 })
}
