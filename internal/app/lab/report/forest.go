package report

import (
	"fmt"

	"github.com/congctl/congctl/internal/app/lab/plot"
	"github.com/congctl/congctl/internal/core/outcome"
)

// A forest: for each group a lane for each arm, in it the median, its interval, and
// where there is one the model's band and the physical bound. Dots rather than bars:
// a bar's length means nothing on a logarithmic axis, which most sweeps need.

const (
	laneHeight = 17.0 // pixels
	labelRoom  = 0.86 // of the axis: further right a value's text stands left of it
)

// measure is what a forest shows.
type measure struct {
	title, unit string
	scale       float64 // of the unit
	of          func(line) *outcome.Interval
	theory      bool // of goodput only
	open        func(line) bool
}

func (v *view) forest(m measure) *plot.Plot {
	lanes := 0
	p := &plot.Plot{Title: m.title + " of each arm in each group, " + m.unit, Width: 860,
		X: plot.Axis{Label: m.title + ", " + m.unit, Scale: plot.Fit(v.values(m)...)}, Y: plot.Axis{Ticks: []plot.Tick{}}}
	for _, g := range v.groups {
		p.Y.Ticks = append(p.Y.Ticks, plot.Tick{At: float64(lanes) + float64(len(g.rows))/2 + 0.25, Label: or(g.name, "all")})
		for i, l := range g.rows {
			p.Marks = append(p.Marks, m.lane(l, float64(lanes+i)+0.75, p.X.Scale)...)
		}
		lanes += len(g.rows)
		lanes++ // half a lane of air on both sides
		p.Y.Lines = append(p.Y.Lines, float64(lanes)-0.25)
	}
	p.Y.Scale = plot.Scale{Lo: float64(lanes) - 0.25, Hi: 0}
	p.Y.Lines = p.Y.Lines[:max(0, len(p.Y.Lines)-1)]
	p.Height = laneHeight * (float64(lanes) - 0.25)
	p.Legend = v.legend(m)
	return p
}

// values are all that the axis must hold.
func (v *view) values(m measure) (out []float64) {
	for _, g := range v.groups {
		for _, l := range g.rows {
			if x := m.of(l); x != nil && valid(l.Row) {
				out = append(out, x.Median/m.scale, x.Low/m.scale, x.High/m.scale)
			}
			if t := l.Theory; m.theory && t != nil && t.HighBitPerS > 0 {
				out = append(out, t.LowBitPerS/m.scale, t.HighBitPerS/m.scale, t.BoundBitPerS/m.scale)
			}
		}
	}
	return out
}

func (m *measure) lane(l line, y float64, scale plot.Scale) (marks []plot.Mark) {
	c := class(l.arm)
	if t := l.Theory; m.theory && t != nil && t.HighBitPerS > 0 {
		marks = append(marks, plot.Box{X0: t.LowBitPerS / m.scale, X1: t.HighBitPerS / m.scale, Y0: y - 0.42, Y1: y + 0.42, Class: "band " + c,
			Title: fmt.Sprintf("%s, model: %s to %s %s (%s)", l.Cell, number(t.LowBitPerS/m.scale), number(t.HighBitPerS/m.scale), m.unit, t.Model)},
			plot.Box{X0: t.BoundBitPerS / m.scale, X1: t.BoundBitPerS / m.scale, Y0: y - 0.42, Y1: y + 0.42, Class: "bound",
				Title: fmt.Sprintf("%s, physical bound: %s %s", l.Cell, number(t.BoundBitPerS/m.scale), m.unit)})
	}
	x := m.of(l)
	switch {
	case !valid(l.Row):
		return append(marks, plot.Note{X: scale.Lo, Y: y, Right: 6, Class: "start", Text: l.Arm + ": " + invalidWord(l.Row) + broken(l.Row)})
	case x == nil:
		return marks
	}
	text, dot := span(x, m.scale), c
	if m.open != nil && m.open(l) {
		text, dot = "> "+number(x.Median/m.scale), "open "+c
	}
	note := plot.Note{X: x.High / m.scale, Y: y, Right: 9, Class: "start", Text: text}
	if scale.At(note.X) > labelRoom {
		note = plot.Note{X: x.Low / m.scale, Y: y, Right: -9, Class: "end", Text: text}
	}
	return append(marks, plot.Whisker{Low: x.Low / m.scale, High: x.High / m.scale, Y: y, Class: c},
		plot.Dot{X: x.Median / m.scale, Y: y, Shape: l.arm, Class: dot, Title: l.Cell + ": " + text + " " + m.unit}, note)
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
