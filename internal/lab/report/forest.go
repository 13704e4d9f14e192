package report

import (
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/plot"
)

// A forest plot: for each group a lane for each arm, in it the median, its interval, and
// if there is one the model's band and the physical bound. Dots rather than bars: a bar's
// length means nothing on a logarithmic axis, which most sweeps need.

const (
	laneHeight = 17.0 // pixels: a line of text
	noteShare  = 0.12 // of the axis: what a median with its interval takes beside its mark
)

// measure is what a forest shows.
type measure struct {
	title, unit string
	scale       float64 // of the unit
	width       float64 // pixels
	of          func(line) *outcome.Interval
	theory      bool // of goodput only
	open        func(line) bool
}

func (v *view) forest(m measure) *plot.Plot {
	lanes := 0
	p := &plot.Plot{Title: m.title + " of each arm in each group, " + m.unit, Width: m.width,
		Name: m.title + ", " + m.unit, X: plot.Axis{Scale: plot.Fit(v.values(m)...)}, Y: plot.Axis{Ticks: []plot.Tick{}}}
	for _, g := range v.Groups {
		p.Y.Ticks = append(p.Y.Ticks, plot.Tick{At: float64(lanes) + float64(len(g.Rows))/2 + 0.25, Label: g.label()})
		for i, l := range g.Rows {
			p.Marks = append(p.Marks, m.lane(l, float64(lanes+i)+0.75, p.X.Scale)...)
		}
		lanes += len(g.Rows)
		lanes++ // half a lane of air on both sides
		p.Y.Lines = append(p.Y.Lines, float64(lanes)-0.25)
	}
	p.Y.Scale = plot.Scale{Lo: float64(lanes) - 0.25, Hi: 0}
	p.Y.Lines = p.Y.Lines[:max(0, len(p.Y.Lines)-1)]
	p.Height = laneHeight * (float64(lanes) - 0.25)
	p.Legend = v.legend(m)
	return p
}

// values returns everything that the axis must hold.
func (v *view) values(m measure) (out []float64) {
	for _, g := range v.Groups {
		for _, l := range g.Rows {
			if x := m.of(l); x != nil && valid(l.Row) {
				out = append(out, x.Median/m.scale, x.Low/m.scale, x.High/m.scale)
			}
			low, high, bound := m.predicted(l)
			out = append(out, slices.DeleteFunc([]float64{low, high, bound}, func(edge float64) bool { return edge <= 0 })...)
		}
	}
	return out
}

// predicted are the model's band and the bound; 0 where there is none.
func (m *measure) predicted(l line) (low, high, bound float64) {
	if t := l.Theory; m.theory && t != nil {
		return t.LowBitPerS / m.scale, t.HighBitPerS / m.scale, t.BoundBitPerS / m.scale
	}
	return 0, 0, 0
}

func (m *measure) lane(l line, y float64, scale plot.Scale) []plot.Mark {
	marks := m.theoryMarks(l, y)
	x := m.of(l)
	switch {
	case !valid(l.Row):
		return append(marks, plot.Note{X0: scale.Lo, X1: scale.Lo, Y: y, Class: "bad", Text: l.Arm + ": " + invalidWord(l.Row) + broken(l.Row)})
	case x == nil:
		return marks
	}
	text, dot := span(x, m.scale), class(l.arm)
	if m.open != nil && m.open(l) {
		text, dot = "> "+number(x.Median/m.scale), "open "+dot
	}
	low, high := m.taken(l, scale)
	return append(marks,
		plot.Whisker{Low: x.Low / m.scale, High: x.High / m.scale, Y: y, Class: class(l.arm)},
		plot.Dot{X: x.Median / m.scale, Y: y, Shape: l.arm, Class: dot, Title: l.Cell + ": " + text + " " + m.unit},
		plot.Note{X0: low, X1: high, Y: y, Text: text})
}

// theoryMarks are the model's band and the bound, as far as there are any.
func (m *measure) theoryMarks(l line, y float64) (marks []plot.Mark) {
	low, high, bound := m.predicted(l)
	if high > 0 {
		marks = append(marks, plot.Box{X0: low, X1: high, Y0: y - 0.42, Y1: y + 0.42, Class: "band " + class(l.arm),
			Title: fmt.Sprintf("%s, model: %s to %s %s (%s)", l.Cell, number(low), number(high), m.unit, l.Theory.Model)})
	}
	if bound > 0 {
		marks = append(marks, plot.Box{X0: bound, X1: bound, Y0: y - 0.42, Y1: y + 0.42, Class: "bound",
			Title: fmt.Sprintf("%s, physical bound: %s %s", l.Cell, number(bound), m.unit)})
	}
	return marks
}

// taken returns how much of its lane a row's marks take; its text stands beside that.
func (m *measure) taken(l line, scale plot.Scale) (low, high float64) {
	x := m.of(l)
	low, high = x.Low/m.scale, x.High/m.scale
	bandLow, bandHigh, bound := m.predicted(l)
	if bandHigh > 0 {
		low, high = min(low, bandLow), max(high, bandHigh)
	}
	if bound > 0 && scale.At(bound)-scale.At(high) < noteShare {
		high = max(high, bound)
	}
	return low, high
}

func broken(r *outcome.Row) string {
	if len(r.Reasons) == 0 {
		return ""
	}
	return " (" + brokenGates(r) + ")"
}

func (v *view) legend(m measure) (out []plot.Entry) {
	for i, a := range v.Scenario.Arms {
		out = append(out, plot.Entry{Label: a.Name, Class: class(i), Shape: i})
	}
	if m.theory {
		out = append(out, plot.Entry{Label: "model's band", Class: "band c7", Shape: -2}, plot.Entry{Label: "physical bound", Class: "bound", Shape: -3})
	}
	return out
}
