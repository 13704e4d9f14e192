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
	groups    []group
	arms      map[string]int // place in the scenario, which is the arm's colour everywhere
	published *beside        // nil: none
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
	v := &view{Summary: s, arms: map[string]int{}, published: besidePublished(s)}
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

// longName is from how many characters on a group's name takes too much of a plot.
const longName = 24

// label is the group's name, or its axes' values alone where it is long.
func (g *group) label() string {
	if len(g.name) < longName || len(g.rows[0].cell.Axes) == 0 {
		return or(g.name, "all")
	}
	var values []string
	for _, a := range g.rows[0].cell.Axes {
		values = append(values, a.Value)
	}
	return strings.Join(values, " ")
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

// best tells whether a row is as good as any of its group, or is told from it by less
// than makes a winner.
func (g *group) best(l line) bool {
	for _, other := range g.rows {
		if other.Goodput.Median*(1-tie) > l.Goodput.Median {
			return false
		}
	}
	return true
}

// tie is the difference that makes no winner, as outcome.Summary's.
const tie = 0.05

// complete tells whether every row has a number.
func (g *group) complete() bool {
	return !slices.ContainsFunc(g.rows, func(l line) bool { return !valid(l.Row) })
}
