package report

import (
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/plot"
)

const (
	// cdfPoints of a distribution's line: half a percent each.
	cdfPoints = 200
	// leastQueueMs is where a queue's axis begins: one packet at 100 Mbit/s takes 0.12 ms.
	leastQueueMs = 0.1
)

// distribution is what a group's valid runs saw, all seeds together, for each arm.
type distribution struct {
	title, unit string
	of          func(r *outcome.Run) []float64
}

var distributions = []distribution{
	{"Queue delay, as probes measured it", "ms", queueDelays},
	{"Completion time of connections", "s", connTimes},
}

func queueDelays(r *outcome.Run) (ms []float64) {
	for _, us := range r.QueueUs() {
		ms = append(ms, max(us/milli, leastQueueMs))
	}
	return ms
}

// connTimes are those of flows that repeat their connection.
func connTimes(r *outcome.Run) (s []float64) {
	for _, f := range r.Flows {
		if len(f.Conns) > 1 {
			for _, c := range f.Conns {
				s = append(s, float64(c.EndUs-c.StartUs)/second)
			}
		}
	}
	return s
}

// distributionFigure draws those of a group that have any values.
func (f *Folder) distributionFigure(g *group) (figure, error) {
	fig := figure{Title: "Distributions", Note: "All valid runs together. The line shows the share of values up to each value."}
	values := make([]map[string][]float64, len(distributions))
	for i := range f.Results {
		r := &f.Results[i]
		at := slices.IndexFunc(g.Rows, func(l line) bool { return l.Cell == r.Cell && valid(l.Row) })
		if at < 0 || !r.Valid {
			continue
		}
		run, err := f.Load(r.Cell, r.Seed)
		if err != nil {
			return fig, fmt.Errorf("distributions of %s: %w", r.Cell, err)
		}
		for k, d := range distributions {
			if values[k] == nil {
				values[k] = map[string][]float64{}
			}
			values[k][r.Cell] = append(values[k][r.Cell], d.of(run)...)
		}
	}
	for k, d := range distributions {
		if p := d.plot(g, values[k]); p != nil {
			fig.SVG = append(fig.SVG, svg(p.SVG()))
		}
	}
	return fig, nil
}

func (d *distribution) plot(g *group, values map[string][]float64) *plot.Plot {
	var all []float64
	p := &plot.Plot{Title: d.title + ", share of values up to each one", Name: d.title + ", " + d.unit, Width: narrow, Height: 160,
		Y: plot.Axis{Scale: plot.Scale{Lo: 0, Hi: 1}}}
	for _, l := range g.Rows {
		if x := values[l.Cell]; len(x) > 1 {
			all = append(all, x...)
			p.Marks = append(p.Marks, plot.Line{Points: plot.CDF(x, cdfPoints), Class: class(l.arm), Title: l.Arm})
			p.Legend = append(p.Legend, plot.Entry{Label: l.Arm, Class: class(l.arm), Shape: -1})
		}
	}
	if all == nil {
		return nil
	}
	p.X = plot.Axis{Label: d.unit, Scale: plot.Fit(all...)}
	return p
}
