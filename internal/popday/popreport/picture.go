package popreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/plot"
	"github.com/congctl/congctl/internal/popday"
)

// The first picture: for each class that congctl moved, and each that everything treated
// slows down, what its large responses reach under each policy, and what was sent again
// for it. A row has a bar for each policy.

const (
	barHeight = 13.0 // pixels of a policy's bar
	barRoom   = 1.25 // right of the longest bar, for its figure
	rowGap    = 0.9  // between two classes, in bars
)

// bars are one panel: a value of each class under each policy.
type bars struct {
	name, unit string
	of         func(under) float64
	format     string
}

var panels = []bars{
	{"goodput", "Mbit/s", func(u under) float64 { return u.bytesPerS / mbit }, "%.1f"},
	{"bytes sent again", "%", func(u under) float64 { return 100 * u.again }, "%.1f"},
}

// pictured are the picture's rows.
func pictured(r *popday.Report) []told {
	moved := slices.DeleteFunc(slow(r), func(t told) bool { return t.kind != popday.Moved })
	for i := range moved {
		moved[i].networks = moved[i].measured
	}
	return append(moved, harmed(r)...)
}

// barPolicies are those that have a bar.
func barPolicies(r *popday.Report) (names []string) {
	for _, p := range shown(r) {
		if slices.Contains([]string{r.Comparison.Default, r.Lead, r.Comparison.Treatment}, p.Policy) && len(p.Seeds) > 0 {
			names = append(names, p.Policy)
		}
	}
	return names
}

// picture returns the panels, each so many pixels wide; none where there is nothing to show.
func picture(r *popday.Report, width float64) (out []*plot.Plot) {
	rows, names := pictured(r), barPolicies(r)
	if len(rows) == 0 {
		return nil
	}
	for _, b := range panels {
		out = append(out, b.plot(r, rows, names, width))
	}
	return out
}

func (b *bars) plot(r *popday.Report, rows []told, names []string, width float64) *plot.Plot {
	p := &plot.Plot{Title: b.name + " of the networks that congctl moved, and of those that " + word(r.Comparison.Treatment) + " for all slows down, in " + b.unit,
		Name: b.name + ", " + b.unit, Width: width, Y: plot.Axis{Ticks: []plot.Tick{}}}
	most, at := 0.0, rowGap/2
	for i := range rows {
		p.Y.Ticks = append(p.Y.Ticks, plot.Tick{At: at + float64(len(names))/2, Label: rows[i].label()})
		for k, name := range names {
			v := b.of(rows[i].under[name])
			most = max(most, v)
			text := fmt.Sprintf(b.format, v)
			p.Marks = append(p.Marks, plot.Box{X0: 0, X1: v, Y0: at + float64(k) + 0.1, Y1: at + float64(k) + 0.9, Class: fmt.Sprintf("state c%d", barColour(k)),
				Title: fmt.Sprintf("%s, %s: %s %s", rows[i].label(), title(r, name), text, b.unit)},
				plot.Note{X1: v, Y: at + float64(k) + 0.5, Text: text})
		}
		at += float64(len(names)) + rowGap
		p.Y.Lines = append(p.Y.Lines, at-rowGap/2)
	}
	for k, name := range names {
		p.Legend = append(p.Legend, plot.Entry{Label: title(r, name), Class: fmt.Sprintf("state c%d", barColour(k)), Shape: -2})
	}
	p.Y.Lines = p.Y.Lines[:len(p.Y.Lines)-1]
	at -= rowGap / 2
	p.Y.Scale = plot.Scale{Lo: at, Hi: 0}
	p.X.Scale = plot.Scale{Lo: 0, Hi: max(most, 0.1) * barRoom}
	p.Height = barHeight * at
	return p
}

// barColour: the default is grey, congctl blue, everything treated orange.
func barColour(k int) int { return []int{7, 0, 1}[k] }

// Drawing returns the first picture as a file of its own, "" where there is nothing to show.
func Drawing(r *popday.Report) []byte {
	const width, margin = 560.0, 12.0
	panels := picture(r, width)
	if panels == nil {
		return nil
	}
	var b strings.Builder
	height := panels[0].Total()
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %g %g" width="%g" height="%g">`+"\n<style>\n%s%s</style>\n",
		2*width+3*margin, height+2*margin, 2*width+3*margin, height+2*margin, plot.Style, pageStyle)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="var(--paper)"/>`+"\n")
	for i, p := range panels {
		fmt.Fprintf(&b, "<g transform=\"translate(%g %g)\">\n%s</g>\n", margin+float64(i)*(width+margin), margin, p.SVG())
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
