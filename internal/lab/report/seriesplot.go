package report

import (
	"math"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/plot"
)

// alike is up to which factor runs of different length share a time axis: beyond, the
// shorter one would be a smear at the left.
const alike = 3

// figure is a plot with its words.
type figure struct {
	Title string
	Note  string
	Wide  bool // one below the other across the page, else in two columns
	SVG   []svg
	Heat  *heat
}

// seriesFigure draws a group's runs over time: all arms in one plot if they took about as
// long and have one flow each, otherwise a plot for each, on the same vertical axis.
func seriesFigure(traces []*trace) figure {
	f := figure{Title: "Over time", Note: "The run with the median goodput: " + seeds(traces) + "."}
	for _, s := range allSeries {
		axis := plot.Axis{Scale: plot.Fit(s.values(traces)...)}
		for _, together := range together(traces) {
			if p := s.plot(together, axis); p != nil {
				f.SVG = append(f.SVG, svg(p.SVG()))
			}
		}
	}
	return f
}

// together are the traces that share a plot.
func together(traces []*trace) (out [][]*trace) {
	shortest, longest, single := math.Inf(1), 0.0, true
	for _, t := range traces {
		single = single && len(t.flows) == 1
		shortest, longest = min(shortest, t.seconds()), max(longest, t.seconds())
	}
	if single && longest <= alike*shortest {
		return [][]*trace{traces}
	}
	for _, t := range traces {
		out = append(out, []*trace{t})
	}
	return out
}

func (s *series) plot(traces []*trace, y plot.Axis) *plot.Plot {
	var span float64
	for _, t := range traces {
		span = max(span, t.seconds())
	}
	p := &plot.Plot{Title: s.title + " over time, " + s.unit + ", of " + seeds(traces), Name: s.title + ", " + s.unit, Width: narrow, Height: 120,
		X: plot.Axis{Label: "time, s", Scale: plot.Scale{Lo: 0, Hi: span}}, Y: y}
	if len(traces) == 1 && len(traces[0].flows) > 1 {
		p.Name += ": " + traces[0].Arm
	}
	for _, t := range traces {
		for _, f := range s.flows(t) {
			points := s.points(t.run, f.name)
			if len(points) < 2 {
				continue
			}
			p.Marks = append(p.Marks, plot.Line{Points: points, Class: "thin " + f.class, Step: s.step})
			p.Legend = append(p.Legend, plot.Entry{Label: f.label, Class: f.class, Shape: -1})
		}
	}
	if p.Marks == nil {
		return nil
	}
	return p
}

// flows that have a line of their own.
func (s *series) flows(t *trace) []traceFlow {
	if s.shared {
		return []traceFlow{{"", t.Arm, class(t.arm)}}
	}
	return t.flows
}

func (s *series) values(traces []*trace) (out []float64) {
	for _, t := range traces {
		for _, f := range s.flows(t) {
			for _, p := range s.points(t.run, f.name) {
				out = append(out, p.Y)
			}
		}
	}
	return out
}

// seeds says which run of each arm is drawn.
func seeds(traces []*trace) string {
	var out []string
	for _, t := range traces {
		out = append(out, t.Arm+" seed "+plain(float64(t.run.Seed)))
	}
	return strings.Join(slices.Compact(out), ", ")
}
