package report

import (
	"fmt"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/plot"
	"github.com/congctl/congctl/internal/lab/published"
)

// beside is an article's table beside this run. Published.json has it.
type beside struct {
	Name   string                 `json:"name"`
	Source string                 `json:"source"`
	Unit   string                 `json:"unit"` // of all values
	Shape  published.Shape        `json:"shape"`
	Rows   []published.Comparison `json:"rows"`
}

// besidePublished returns nil if the scenario names no table, or has no valid row in it.
func besidePublished(s *outcome.Summary) *beside {
	t, ok := published.Find(s.Scenario.Published)
	if !ok {
		return nil
	}
	rows, shape := published.Compare(*s)
	if len(rows) == 0 {
		return nil
	}
	return &beside{t.Name, t.Source, t.Unit.Name, shape, rows}
}

// headline is the shape in a few words.
func (b *beside) Headline() string {
	if b == nil || b.Shape.Of == 0 {
		return ""
	}
	return fmt.Sprintf("against the published values: %d of %d winners and orders hold", b.Shape.Same, b.Shape.Of)
}

// Table has a heading and a row for each value.
func (b *beside) Table() [][]string {
	out := [][]string{{"group", "arm", "published " + b.Unit, "measured", "ratio", "why they differ"}}
	for _, r := range b.Rows {
		measured := number(r.Ours)
		if r.Factor != 1 {
			measured += " (x" + number(r.Factor) + ")"
		}
		out = append(out, []string{r.Group, r.Arm, number(r.Published), measured, number(r.Ratio), r.Note})
	}
	return out
}

// plot draws published values as open marks and measured ones as full, on one line.
func (b *beside) plot(v *view) *plot.Plot {
	var values []float64
	out := &plot.Plot{Title: "Published values and measured ones, " + b.Unit, Name: b.Unit, Width: wide, Height: laneHeight * float64(len(b.Rows)+1)}
	for i, r := range b.Rows {
		values = append(values, r.Published, r.Ours)
		y, arm := float64(i), v.arms[r.Arm]
		title := fmt.Sprintf("%s/%s, %s", r.Group, r.Arm, b.Unit)
		out.Y.Ticks = append(out.Y.Ticks, plot.Tick{At: y, Label: r.Group + " " + r.Arm})
		out.Marks = append(out.Marks,
			plot.Line{Points: []plot.Point{{X: r.Published, Y: y}, {X: r.Ours, Y: y}}, Class: class(arm)},
			plot.Dot{X: r.Ours, Y: y, Shape: arm, Class: class(arm), Title: title + ", measured: " + number(r.Ours)},
			plot.Dot{X: r.Published, Y: y, Shape: arm, Class: "open " + class(arm), Title: title + ", published: " + number(r.Published)})
	}
	out.X.Scale = plot.Fit(values...)
	out.Y.Scale = plot.Scale{Lo: float64(len(b.Rows)), Hi: -1}
	for i, a := range v.Scenario.Arms {
		out.Legend = append(out.Legend, plot.Entry{Label: a.Name + ", measured", Class: class(i), Shape: i},
			plot.Entry{Label: a.Name + ", published", Class: "open " + class(i), Shape: i})
	}
	return out
}
