package popreport

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/congctl/congctl/internal/lab/plot"
	"github.com/congctl/congctl/internal/popday"
)

// figure is one plot or several with words. It draws itself for a page of any width, so
// that a narrow one cuts nothing off.
type figure struct {
	Title string
	Note  string
	draw  func(width float64) []*plot.Plot
	Alone bool // one plot across the page
}

// figureOf returns the one that the template names.
func figureOf(r *popday.Report, name, of string) figure {
	alone := func(title, note string, draw func(width float64) *plot.Plot) figure {
		return figure{title, note, func(width float64) []*plot.Plot { return []*plot.Plot{draw(width)} }, true}
	}
	switch name {
	case "goodput":
		return figure{Title: "Goodput of large responses", Note: "Relative to " + title(r, r.Comparison.Default) + ", with intervals of 95 %; and the share of responses up to each goodput.",
			draw: func(width float64) []*plot.Plot { return []*plot.Plot{ratios(r, width), distribution(r, width)} }}
	case "truth":
		return alone("Effect and truth", "p10 goodput of large responses of the same networks and hours.", func(width float64) *plot.Plot { return truths(r, width) })
	case "timeline":
		i, _ := strconv.Atoi(of) // the template's own
		s := &r.Stories[i]
		return alone(fmt.Sprintf("%s, seed %d", s.Policy, s.Seed), "The networks in the plan over the day.", func(width float64) *plot.Plot { return timeline(r, s, width) })
	}
	return figure{Title: "Before and after", Note: "Goodput of large responses, and the cost in resent bytes. Networks that congctl moved: the same requests, from the move on. Networks that " +
		word(r.Comparison.Treatment) + " for all slows down: the whole day.", draw: func(width float64) []*plot.Plot { return picture(r, width) }}
}

// Widths of a page's text, pixels: of a screen and of a telephone.
const (
	broad = 1160.0
	slim  = 342.0
	gap   = 24.0 // between two plots beside each other
)

// Broad draws for a screen: two plots stand beside each other.
func (f *figure) Broad() []svg {
	if f.Alone {
		return drawn(f.draw(broad))
	}
	return drawn(f.draw((broad - gap) / 2))
}

// Slim draws for a telephone: one plot below the other.
func (f *figure) Slim() []svg { return drawn(f.draw(slim)) }

func drawn(plots []*plot.Plot) (out []svg) {
	for _, p := range plots {
		if p != nil {
			out = append(out, svg(p.SVG()))
		}
	}
	return out
}

// figures returns f where it shows something.
func figures(f figure) []figure {
	if len(drawn(f.draw(slim))) == 0 {
		return nil
	}
	return []figure{f}
}

const hour = 3600.0 // s

// states in the plan and their colours.
var states = []string{"trial", "promoted", "selected", "hold-out", "A/A"}

func timeline(r *popday.Report, s *popday.Story, width float64) *plot.Plot {
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
	p := &plot.Plot{Title: "networks in the plan over the day", Name: "in the plan", Width: width, Height: laneHeight * float64(len(rows)),
		X: plot.Axis{Label: "time of the day, h", Scale: plot.Scale{Lo: 0, Hi: float64(r.LengthS) / hour}},
		Y: plot.Axis{Scale: plot.Scale{Lo: float64(len(rows)), Hi: 0}, Ticks: []plot.Tick{}}}
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

// laneHeight of a line of text, pixels.
const laneHeight = 17.0

// lane is one row of a forest plot: marks at a height, with their labels.
type lane struct {
	label string
	marks []estimate
}

// estimate is a value with its interval in a lane; entry says what it is.
type estimate struct {
	interval *popday.Interval
	entry    plot.Entry
}

// forest draws lanes one below the other around a ratio of 1; what has no interval has no
// row, and what has no row is not in the legend.
func forest(title, name string, width float64, lanes []lane) *plot.Plot {
	values := []float64{1}
	p := &plot.Plot{Title: title, Name: name, Width: width, Y: plot.Axis{Ticks: []plot.Tick{}}}
	at := 0.0
	for _, l := range lanes {
		l.marks = slices.DeleteFunc(slices.Clone(l.marks), func(m estimate) bool { return m.interval == nil })
		if len(l.marks) == 0 {
			continue
		}
		n := float64(len(l.marks))
		p.Y.Ticks = append(p.Y.Ticks, plot.Tick{At: at + n/2 + 0.25, Label: l.label})
		for i, m := range l.marks {
			y, v, e := at+float64(i)+0.75, m.interval, m.entry
			values = append(values, v.Value, v.Low, v.High)
			p.Marks = append(p.Marks, plot.Whisker{Low: v.Low, High: v.High, Y: y, Class: e.Class},
				plot.Dot{X: v.Value, Y: y, Shape: e.Shape, Class: e.Class, Title: l.label + ": " + span(v)})
			if !slices.ContainsFunc(p.Legend, func(o plot.Entry) bool { return o.Label == e.Label }) {
				p.Legend = append(p.Legend, e)
			}
		}
		at += n + 0.5
		p.Y.Lines = append(p.Y.Lines, at)
	}
	if at == 0 {
		return nil
	}
	p.X = plot.Axis{Scale: plot.Fit(values...)}
	p.Y.Scale = plot.Scale{Lo: at, Hi: 0}
	p.Y.Lines = p.Y.Lines[:len(p.Y.Lines)-1]
	p.Height = laneHeight * at
	p.Marks = append([]plot.Mark{plot.Box{X0: 1, X1: 1, Y0: 0, Y1: at, Class: "bound"}}, p.Marks...)
	return p
}

// class returns the class of a policy's colour: those of the first picture, then any.
func class(r *popday.Report, policy string) string {
	if i := slices.Index([]string{r.Comparison.Default, r.Lead, r.Comparison.Treatment}, policy); i >= 0 {
		return fmt.Sprintf("c%d", barColour(i))
	}
	return fmt.Sprintf("c%d", 2+slices.Index(policies(r), policy)%5)
}

// ratios of the policies' goodput to the default's.
func ratios(r *popday.Report, width float64) *plot.Plot {
	var lanes []lane
	for _, p := range shown(r) {
		l := lane{label: title(r, p.Policy)}
		for i, q := range []*popday.Interval{p.Large.P5.Ratio, p.Large.P10.Ratio, p.Large.P50.Ratio} {
			l.marks = append(l.marks, estimate{q, plot.Entry{Label: []string{"p5", "p10", "p50"}[i], Class: fmt.Sprintf("c%d", 2+i), Shape: []int{2, 0, 1}[i]}})
		}
		lanes = append(lanes, l)
	}
	base := title(r, r.Comparison.Default)
	return forest("goodput over "+base+", p5, p10 and p50 of each policy", "over "+base, width, lanes)
}

// distribution of goodput under every policy.
func distribution(r *popday.Report, width float64) *plot.Plot {
	p := &plot.Plot{Title: "share of large responses up to each goodput, by policy", Name: "share of responses", Width: width, Height: 220,
		Y: plot.Axis{Scale: plot.Scale{Lo: 0, Hi: 1}}}
	var all []float64
	for _, s := range r.Shapes {
		var points []plot.Point
		for i, v := range s.BytesPerS {
			points = append(points, plot.Point{X: v / mbit, Y: float64(i) / 100})
			all = append(all, v/mbit)
		}
		p.Marks = append(p.Marks, plot.Line{Points: points, Class: class(r, s.Policy), Title: title(r, s.Policy)})
		p.Legend = append(p.Legend, plot.Entry{Label: title(r, s.Policy), Class: class(r, s.Policy), Shape: -1})
	}
	if all == nil {
		return nil
	}
	p.X = plot.Axis{Label: "goodput, Mbit/s", Scale: plot.Fit(all...)}
	p.Marks = append([]plot.Mark{plot.Box{X0: p.X.Scale.Lo, X1: p.X.Scale.Hi, Y0: 0.1, Y1: 0.1, Class: "bound"}}, p.Marks...)
	return p
}

// truths set the estimates beside the truth.
func truths(r *popday.Report, width float64) *plot.Plot {
	entries := []plot.Entry{{Label: "randomised blocks", Class: "c0", Shape: 0},
		{Label: title(r, r.Comparison.Treatment) + " over " + title(r, r.Comparison.Default), Class: "c1", Shape: 3}, {Label: "all switched at 100 kB", Class: "c2", Shape: 2}}
	var lanes []lane
	for i := range r.Effects {
		e := &r.Effects[i]
		l := lane{effectLabel(r, e), []estimate{{e.Goodput.P10.Interval, entries[0]}}}
		for k, list := range [][]popday.Truth{e.Truth, e.Switched} {
			if len(list) > 0 {
				l.marks = append(l.marks, estimate{list[0].Ratio, entries[k+1]})
			}
		}
		lanes = append(lanes, l)
	}
	return forest("p10 goodput, treated over control, beside the truth", "p10 goodput, ratio", width, lanes)
}
