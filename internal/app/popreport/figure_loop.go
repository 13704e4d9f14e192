package popreport

import (
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/app/lab/plot"
	"github.com/congctl/congctl/internal/core/popday"
)

const hour = 3600.0 // s

// loopFigures are who was in the plan when, the churn, and how the percentiles went.
func loopFigures(r *popday.Report) (out []figure) {
	for i := range r.Stories {
		s := &r.Stories[i]
		f := figure{Title: fmt.Sprintf("%s, seed %d", s.Policy, s.Seed), Note: "Who was in the plan when, and how many were selected and new in each round.", Wide: true}
		if p := timeline(r, s); p != nil {
			f.SVG = append(f.SVG, svg(p.SVG()))
		}
		if len(s.Rounds) > 0 {
			f.SVG = append(f.SVG, svg(churn(r, s).SVG()))
		}
		if f.SVG != nil {
			out = append(out, f)
		}
	}
	for _, class := range coursed(r) {
		out = append(out, courseFigure(r, class))
	}
	return out
}

// states in the plan and their colours.
var states = []string{"trial", "promoted", "selected", "hold-out", "A/A"}

func timeline(r *popday.Report, s *popday.Story) *plot.Plot {
	var rows []int
	used := map[string]bool{}
	for _, sp := range s.Spans {
		used[sp.State] = true
		if !slices.Contains(rows, sp.Network) {
			rows = append(rows, sp.Network)
		}
	}
	if rows == nil {
		return nil
	}
	slices.Sort(rows)
	p := &plot.Plot{Title: "networks in the plan over the day", Name: "in the plan", Width: wide, Height: laneHeight * float64(len(rows)),
		X: hours(r, ""), Y: plot.Axis{Scale: plot.Scale{Lo: float64(len(rows)), Hi: 0}, Ticks: []plot.Tick{}}}
	for i, n := range rows {
		p.Y.Ticks = append(p.Y.Ticks, plot.Tick{At: float64(i) + 0.5, Label: fmt.Sprintf("%s %d", r.Networks[n].Class, n)})
	}
	for i, state := range states {
		if used[state] {
			p.Legend = append(p.Legend, plot.Entry{Label: state, Class: fmt.Sprintf("state c%d", i), Shape: -2})
		}
	}
	for _, sp := range s.Spans {
		y := float64(slices.Index(rows, sp.Network))
		p.Marks = append(p.Marks, plot.Box{X0: float64(sp.FromS) / hour, X1: float64(sp.ToS) / hour, Y0: y + 0.15, Y1: y + 0.85,
			Class: fmt.Sprintf("state c%d", slices.Index(states, sp.State)),
			Title: fmt.Sprintf("%s %d: %s from %s to %s, ended by %s", sp.Class, sp.Network, sp.State, popday.Clock(sp.FromS), popday.Clock(sp.ToS), sp.End)})
	}
	return p
}

func hours(r *popday.Report, label string) plot.Axis {
	return plot.Axis{Label: label, Scale: plot.Scale{Lo: 0, Hi: float64(r.LengthS) / hour}}
}

// churn is the article's figure 2.
func churn(r *popday.Report, s *popday.Story) *plot.Plot {
	var selected, added, released []plot.Point
	most := 1.0
	for _, round := range s.Rounds {
		x := float64(round.AtS) / hour
		selected = append(selected, plot.Point{X: x, Y: float64(round.Selected)})
		added = append(added, plot.Point{X: x, Y: float64(round.New)})
		released = append(released, plot.Point{X: x, Y: float64(round.Released)})
		most = math.Max(most, float64(max(round.Selected, round.New, round.Released)))
	}
	p := &plot.Plot{Title: "networks selected, new and released in each round", Name: "networks in a round", Width: wide, Height: 110,
		X: hours(r, "time of the day, h"), Y: plot.Axis{Scale: plot.Fit(0, most)}}
	for i, l := range []struct {
		name   string
		points []plot.Point
	}{{"selected", selected}, {"new", added}, {"released", released}} {
		c := fmt.Sprintf("c%d", []int{0, 2, 1}[i])
		p.Marks = append(p.Marks, plot.Line{Points: l.points, Class: c, Title: l.name, Step: true})
		p.Legend = append(p.Legend, plot.Entry{Label: l.name, Class: c, Shape: -1})
	}
	return p
}

// coursed are all networks together and each class that the loop chose from.
func coursed(r *popday.Report) []string {
	list := []string{""}
	for _, c := range r.Mix {
		for i := range r.Stories {
			if s := &r.Stories[i]; s.Policy == "loop" && slices.ContainsFunc(s.Spans, func(sp popday.Span) bool { return sp.Class == c.Name }) && !slices.Contains(list, c.Name) {
				list = append(list, c.Name)
			}
		}
	}
	return list
}

// courseFigure is the article's figures 3 and 4.
func courseFigure(r *popday.Report, class string) figure {
	f := figure{Title: "Over the day: all networks", Note: "5th, 10th and 50th percentile of each block. The bar is where treatment began. Left: goodput of large responses. Right: delivery rate, as congctl saw it."}
	if class != "" {
		f.Title = "Over the day: " + class
	}
	for _, metric := range []string{"goodput", "delivery_rate"} {
		if p := coursePlot(r, metric, class); p != nil {
			f.SVG = append(f.SVG, svg(p.SVG()))
		}
	}
	return f
}

// lines of a course, thickest where the loop promises something.
var lines = []struct {
	name  string
	class string
	of    func(popday.Point) float64
}{
	{"p50", "thin", func(p popday.Point) float64 { return p.P50 }},
	{"p10", "", func(p popday.Point) float64 { return p.P10 }},
	{"p5", "dash", func(p popday.Point) float64 { return p.P5 }},
}

func coursePlot(r *popday.Report, metric, of string) *plot.Plot {
	name := map[string]string{"goodput": "goodput", "delivery_rate": "delivery rate"}[metric]
	p := &plot.Plot{Title: name + " over the day, p5, p10 and p50 of each policy", Name: name + ", Mbit/s", Width: narrow, Height: 180, X: hours(r, "time of the day, h")}
	var values []float64
	for _, c := range r.Courses {
		if c.Metric != metric || c.Class != of || metric == "goodput" && !slices.Contains([]string{"cubic", "bbr", "loop"}, c.Policy) {
			continue
		}
		for _, l := range lines {
			points, seen := coursePoints(r, c.Points, l.of)
			values = append(values, seen...)
			p.Marks = append(p.Marks, plot.Line{Points: points, Class: class(r, c.Policy) + " " + l.class, Title: c.Policy + ", " + l.name})
		}
		p.Legend = append(p.Legend, plot.Entry{Label: c.Policy, Class: class(r, c.Policy), Shape: -1})
	}
	if values == nil {
		return nil
	}
	p.Legend = append(p.Legend, plot.Entry{Label: "p5", Class: "dash c7", Shape: -1}, plot.Entry{Label: "p10", Class: "c7", Shape: -1}, plot.Entry{Label: "p50", Class: "thin c7", Shape: -1})
	p.Y = plot.Axis{Scale: plot.Fit(values...)}
	if at := began(r); at >= 0 {
		p.Marks = append([]plot.Mark{plot.Box{X0: at, X1: at, Y0: p.Y.Scale.Lo, Y1: p.Y.Scale.Hi, Class: "bound", Title: "treatment began"}}, p.Marks...)
	}
	return p
}

// coursePoints stand in the middle of their blocks; too few values are a gap.
func coursePoints(r *popday.Report, list []popday.Point, of func(popday.Point) float64) (points []plot.Point, values []float64) {
	for _, p := range list {
		at := plot.Point{X: (float64(p.FromS) + float64(r.Experiment.BlockS)/2) / hour, Y: math.NaN()}
		if v := of(p) / mbit; v > 0 {
			at.Y = v
			values = append(values, v)
		}
		points = append(points, at)
	}
	return points, values
}

// began is when the loop first treated, hours; -1 where it never did. Of several seeds the earliest.
func began(r *popday.Report) float64 {
	first := -1.0
	for i := range r.Stories {
		if s := &r.Stories[i]; s.Policy == "loop" && s.FirstTreatedS != nil {
			if at := float64(*s.FirstTreatedS) / hour; first < 0 || at < first {
				first = at
			}
		}
	}
	return first
}
