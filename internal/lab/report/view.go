package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// view is a summary made ready to be shown: rows by group, with their cells.
type view struct {
	*outcome.Summary
	Groups    []*group
	arms      map[string]int // place in the scenario, which is the arm's colour everywhere
	Published *beside        // nil: none
	shown     []column
}

type group struct {
	ID     string // within the page
	name   string
	Rows   []line
	winner outcome.Winner
}

// line is a row with its cell.
type line struct {
	*outcome.Row
	cell *scenario.Cell
	arm  int
}

func newView(s *outcome.Summary) *view {
	v := &view{Summary: s, arms: map[string]int{}, Published: besidePublished(s)}
	for i, a := range s.Scenario.Arms {
		v.arms[a.Name] = i
	}
	for i := range s.Rows {
		r := &s.Rows[i]
		at := slices.IndexFunc(v.Groups, func(g *group) bool { return g.name == r.Group })
		if at < 0 {
			at = len(v.Groups)
			v.Groups = append(v.Groups, &group{ID: fmt.Sprintf("g%d", at+1), name: r.Group})
		}
		cell := s.Scenario.Cell(r.Cell)
		if cell == nil {
			cell = new(scenario.Cell) // a summary of another scenario still shows
		}
		v.Groups[at].Rows = append(v.Groups[at].Rows, line{r, cell, v.arms[r.Arm]})
	}
	for _, w := range s.Winners {
		if at := slices.IndexFunc(v.Groups, func(g *group) bool { return g.name == w.Group }); at >= 0 {
			v.Groups[at].winner = w
		}
	}
	v.shown = v.withValues()
	return v
}

// longName is from how many characters on a group's name takes too much of a plot.
const longName = 24

// Title is the group's name.
func (g *group) Title() string { return cmp.Or(g.name, "all") }

// label is the group's name, or its axes' values alone where it is long.
func (g *group) label() string {
	if len(g.name) < longName || len(g.Rows[0].cell.Axes) == 0 {
		return g.Title()
	}
	var values []string
	for _, a := range g.Rows[0].cell.Axes {
		values = append(values, a.Value)
	}
	return strings.Join(values, " ")
}

// valid reports whether a row may show a number.
func valid(r *outcome.Row) bool { return r.Invalid == 0 && r.Goodput != nil }

// invalidWord replaces the numbers of an invalid row.
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

// Class is the colour of a row's arm.
func (l line) Class() string { return class(l.arm) }

// ended reports whether a row's flows were ended by time although they had bytes left,
// so that the time is a lower bound.
func (l line) ended() bool {
	return l.Completed != nil && slices.ContainsFunc(l.cell.Flows, func(f scenario.Flow) bool {
		return f.Bytes > 0 && f.DurationUs > 0 && l.Completed.Median >= 0.999*float64(f.StartUs+f.DurationUs)
	})
}

// sized reports whether a completion time means something: some flow has a size.
func (l line) sized() bool {
	return slices.ContainsFunc(l.cell.Flows, func(f scenario.Flow) bool { return f.Bytes > 0 })
}

// best reports whether a row is as good as any of its group, or differs from it by less
// than makes a winner.
func (g *group) best(l line) bool {
	for _, other := range g.Rows {
		if other.Goodput.Median*(1-outcome.Tie) > l.Goodput.Median {
			return false
		}
	}
	return true
}

// complete reports whether every row has a number.
func (g *group) complete() bool {
	return !slices.ContainsFunc(g.Rows, func(l line) bool { return !valid(l.Row) })
}
