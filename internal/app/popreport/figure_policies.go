package popreport

import (
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/app/lab/plot"
	"github.com/congctl/congctl/internal/core/popday"
)

// laneHeight of a line of text, pixels.
const laneHeight = 17.0

// lane is one row of a forest: marks at a height, with what they are called.
type lane struct {
	label string
	marks []estimate
}

// estimate is a value with its interval in a lane.
type estimate struct {
	interval *popday.Interval
	class    string
	shape    int
}

// forest draws lanes one below the other around a ratio of 1.
func forest(title, name string, width float64, lanes []lane, legend []plot.Entry) *plot.Plot {
	values := []float64{1}
	p := &plot.Plot{Title: title, Name: name, Width: width, Legend: legend, Y: plot.Axis{Ticks: []plot.Tick{}}}
	at := 0.0
	for _, l := range lanes {
		n := math.Max(float64(len(l.marks)), 1)
		p.Y.Ticks = append(p.Y.Ticks, plot.Tick{At: at + n/2 + 0.25, Label: l.label})
		for i, m := range l.marks {
			y := at + float64(i) + 0.75
			if m.interval == nil {
				continue
			}
			v := m.interval
			values = append(values, v.Value, v.Low, v.High)
			p.Marks = append(p.Marks, plot.Whisker{Low: v.Low, High: v.High, Y: y, Class: m.class},
				plot.Dot{X: v.Value, Y: y, Shape: m.shape, Class: m.class, Title: l.label + ": " + span(v)},
				plot.Note{X0: v.Low, X1: v.High, Y: y, Text: span(v)})
		}
		at += n + 0.5
		p.Y.Lines = append(p.Y.Lines, at)
	}
	p.X = plot.Axis{Scale: plot.Fit(values...)}
	p.Y.Scale = plot.Scale{Lo: at, Hi: 0}
	p.Y.Lines = p.Y.Lines[:max(0, len(p.Y.Lines)-1)]
	p.Height = laneHeight * at
	p.Marks = append([]plot.Mark{plot.Box{X0: 1, X1: 1, Y0: 0, Y1: at, Class: "bound"}}, p.Marks...)
	return p
}

// class of a policy's colour: the same in every figure.
func class(r *popday.Report, policy string) string {
	return fmt.Sprintf("c%d", slices.Index(policies(r), policy)%8)
}

// comparisonFigures are the policies' ratios, and goodput's distribution.
func comparisonFigures(r *popday.Report) (out []figure) {
	var lanes []lane
	for i := range r.Comparison.Policies {
		p := &r.Comparison.Policies[i]
		if p.Large.P10.Ratio == nil {
			continue
		}
		c := class(r, p.Policy)
		lanes = append(lanes, lane{p.Policy, []estimate{{p.Large.P5.Ratio, c, 2}, {p.Large.P10.Ratio, c, 0}, {p.Large.P50.Ratio, c, 1}}})
	}
	legend := []plot.Entry{{Label: "p5", Class: "c7", Shape: 2}, {Label: "p10", Class: "c7", Shape: 0}, {Label: "p50", Class: "c7", Shape: 1}}
	base := popday.All(r.Comparison.Default)
	f := figure{Title: "Goodput of large responses", Note: "Left: by " + base + "'s, with intervals of 95 %. Right: the share of responses up to each goodput."}
	if len(lanes) > 0 {
		f.SVG = append(f.SVG, svg(forest("goodput by "+base+"'s, p5, p10 and p50 of each policy", "by "+base+"'s", narrow, lanes, legend).SVG()))
	}
	if p := distribution(r); p != nil {
		f.SVG = append(f.SVG, svg(p.SVG()))
	}
	if f.SVG == nil {
		return nil
	}
	return []figure{f}
}

// distribution is the article's figure 5: goodput of every policy.
func distribution(r *popday.Report) *plot.Plot {
	p := &plot.Plot{Title: "share of large responses up to each goodput, by policy", Name: "share of responses", Width: narrow, Height: 220,
		Y: plot.Axis{Scale: plot.Scale{Lo: 0, Hi: 1}}}
	var all []float64
	for _, s := range r.Shapes {
		var points []plot.Point
		for i, v := range s.BytesPerS {
			points = append(points, plot.Point{X: v / mbit, Y: float64(i) / 100})
			all = append(all, v/mbit)
		}
		p.Marks = append(p.Marks, plot.Line{Points: points, Class: class(r, s.Policy), Title: s.Policy})
		p.Legend = append(p.Legend, plot.Entry{Label: s.Policy, Class: class(r, s.Policy), Shape: -1})
	}
	if all == nil {
		return nil
	}
	p.X = plot.Axis{Label: "goodput, Mbit/s", Scale: plot.Fit(all...)}
	p.Marks = append([]plot.Mark{plot.Box{X0: p.X.Scale.Lo, X1: p.X.Scale.Hi, Y0: 0.1, Y1: 0.1, Class: "bound"}}, p.Marks...)
	return p
}

// effectFigures set the estimates beside the truth.
func effectFigures(r *popday.Report) []figure {
	var lanes []lane
	for i := range r.Effects {
		e := &r.Effects[i]
		l := lane{label: e.Label, marks: []estimate{{e.Goodput.P10.Interval, "c0", 0}}}
		for k, list := range [][]popday.Truth{e.Truth, e.Switched} {
			if len(list) > 0 {
				l.marks = append(l.marks, estimate{list[0].Ratio, []string{"c1", "c2"}[k], 3 - k})
			}
		}
		lanes = append(lanes, l)
	}
	if lanes == nil {
		return nil
	}
	legend := []plot.Entry{{Label: "randomised blocks", Class: "c0", Shape: 0}, {Label: popday.All(r.Comparison.Treatment) + " by " + popday.All(r.Comparison.Default), Class: "c1", Shape: 3}, {Label: "all switched at 100 kB", Class: "c2", Shape: 2}}
	return []figure{{"Effect and truth", "p10 goodput of large responses of the same networks and hours.", true,
		[]svg{svg(forest("p10 goodput, treated by control, beside the truth", "p10 goodput, ratio", wide, lanes, legend).SVG())}}}
}

// networkFigures are every network's ratio under every policy.
func networkFigures(r *popday.Report) []figure {
	h := &plot.Heat{Title: "median goodput of each network by " + popday.All(r.Comparison.Default) + "'s", Width: wide, Vertical: 22,
		Keys: []plot.HeatKey{{Step: -3, Text: "slower"}, {Step: 0, Text: "within 5 %"}, {Step: 3, Text: "faster"}}}
	column := map[string]int{}
	for _, n := range r.Each {
		name := fmt.Sprintf("%s-%d", n.Policy, n.Seed)
		if _, ok := column[name]; !ok {
			column[name] = len(h.Columns)
			h.Columns = append(h.Columns, name)
		}
	}
	if len(h.Columns) == 0 {
		return nil
	}
	for _, n := range r.Networks {
		h.Rows = append(h.Rows, fmt.Sprintf("%s %d", n.Class, n.Number))
		h.Cells = append(h.Cells, slices.Repeat([]plot.HeatCell{{Text: "-", None: true}}, len(h.Columns)))
	}
	for _, n := range r.Each {
		if v := n.Ratio; v != nil {
			h.Cells[n.Network][column[fmt.Sprintf("%s-%d", n.Policy, n.Seed)]] = plot.HeatCell{Text: fmt.Sprintf("%.2f", v.Value), Title: span(v) + ", " + n.Verdict, Step: step(v.Value)}
		}
	}
	return []figure{{"Every network", "Median goodput of large responses by " + popday.All(r.Comparison.Default) + "'s on the same requests.", true, []svg{svg(h.SVG())}}}
}

// step of colour: within 5 % none, then each factor of 1.5 one.
func step(ratio float64) int {
	if math.Abs(ratio-1) <= 0.05 {
		return 0
	}
	n := 1 + int(math.Abs(math.Log(ratio))/math.Log(1.5))
	if ratio < 1 {
		return -n
	}
	return n
}
