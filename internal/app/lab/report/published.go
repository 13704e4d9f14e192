package report

import (
	"fmt"

	"github.com/congctl/congctl/internal/app/lab/plot"
)

// Published is somebody else's table beside this run.
type Published struct {
	Source  string   `json:"source"`
	Unit    string   `json:"unit"` // of all values
	Verdict []string `json:"verdict"`
	Rows    []PublishedRow
}

// PublishedRow is one published value. Measured is 0 where this run has none.
type PublishedRow struct {
	Group     string
	Arm       string
	Published float64
	Measured  float64
	Note      string
}

// plot draws published values as open marks and measured ones as full, on one line.
func (p *Published) plot(v *view) *plot.Plot {
	var values []float64
	out := &plot.Plot{Title: "Published values against measured ones, " + p.Unit, Width: 860, Height: laneHeight * float64(len(p.Rows)+1)}
	for _, r := range p.Rows {
		values = append(values, r.Published)
		if r.Measured > 0 {
			values = append(values, r.Measured)
		}
	}
	out.X = plot.Axis{Label: p.Unit, Scale: plot.Fit(values...)}
	out.Y = plot.Axis{Scale: plot.Scale{Lo: float64(len(p.Rows)), Hi: -1}, Ticks: []plot.Tick{}}
	for i, r := range p.Rows {
		y, arm := float64(i), v.arms[r.Arm]
		out.Y.Ticks = append(out.Y.Ticks, plot.Tick{At: y, Label: r.Group + " " + r.Arm})
		if r.Measured > 0 {
			out.Marks = append(out.Marks, plot.Line{Points: []plot.Point{{X: r.Published, Y: y}, {X: r.Measured, Y: y}}, Class: class(arm)},
				plot.Dot{X: r.Measured, Y: y, Shape: arm, Class: class(arm), Title: fmt.Sprintf("%s %s, measured: %s %s", r.Group, r.Arm, number(r.Measured), p.Unit)})
		}
		out.Marks = append(out.Marks, plot.Dot{X: r.Published, Y: y, Shape: arm, Class: "open " + class(arm),
			Title: fmt.Sprintf("%s %s, published: %s %s", r.Group, r.Arm, number(r.Published), p.Unit)})
	}
	return out
}
