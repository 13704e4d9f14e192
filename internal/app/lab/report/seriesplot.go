package report

import (
	"slices"

	"github.com/congctl/congctl/internal/app/lab/plot"
)

// alike is up to which factor runs of different length share a time axis: beyond, the
// shorter one would be a smear at the left.
const alike = 3

// figure is a plot with its words.
type figure struct {
	Title string
	Note  string
	SVG   []svg
}

// seriesFigures draws a group's runs over time: all arms in one picture where they
// took about as long and have one flow each, else one picture for each arm.
func seriesFigures(traces []*trace) []figure {
	if len(traces) == 0 {
		return nil
	}
	together := true
	shortest, longest := traces[0].seconds(), 0.0
	for _, t := range traces {
		together = together && len(t.flows) == 1
		shortest, longest = min(shortest, t.seconds()), max(longest, t.seconds())
	}
	if together && longest <= alike*shortest {
		return []figure{seriesFigure("Over time", traces, traces)}
	}
	var out []figure
	for _, t := range traces {
		out = append(out, seriesFigure("Over time: "+t.Arm, []*trace{t}, traces))
	}
	return out
}

// seriesFigure draws some traces, on vertical axes that fit all of the group's.
func seriesFigure(title string, traces, all []*trace) figure {
	f := figure{Title: title, Note: "The run with the median goodput: " + seeds(traces) + "."}
	for _, s := range allSeries {
		if p := s.plot(traces, all); p != nil {
			f.SVG = append(f.SVG, svg(p.SVG()))
		}
	}
	return f
}

func (s *series) plot(traces, all []*trace) *plot.Plot {
	var span float64
	for _, t := range traces {
		span = max(span, t.seconds())
	}
	p := &plot.Plot{Title: s.title + " over time, " + s.unit + ", of " + seeds(traces), Width: 560, Height: 120,
		X: plot.Axis{Label: "time, s", Scale: plot.Scale{Lo: 0, Hi: span}},
		Y: plot.Axis{Label: s.title + ", " + s.unit, Scale: plot.Fit(s.values(all)...)}}
	for _, t := range traces {
		for _, f := range t.flows {
			points := s.points(t.run, f.name)
			if len(points) < 2 {
				continue
			}
			p.Marks = append(p.Marks, plot.Line{Points: points, Class: "thin " + f.class, Step: s.title == allSeries[0].title})
			p.Legend = append(p.Legend, plot.Entry{Label: f.label, Class: f.class, Shape: -1})
		}
	}
	if p.Marks == nil {
		return nil
	}
	return p
}

func (s *series) values(traces []*trace) (out []float64) {
	for _, t := range traces {
		for _, f := range t.flows {
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
	return joined(slices.Compact(out))
}
