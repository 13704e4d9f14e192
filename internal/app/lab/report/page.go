package report

import (
	"bytes"
	_ "embed" // the page and its style
	"fmt"
	"html/template"
	"strings"

	"github.com/congctl/congctl/internal/app/lab/plot"
	"github.com/congctl/congctl/internal/core/outcome"
)

// svg is a drawing made by package plot, which escapes what it draws.
type svg = template.HTML

//go:embed page.html
var pageText string

// PageStyle has the rules of a report's page, around those of plot.Style.
//
//go:embed page.css
var PageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template shows.
type page struct {
	*Folder
	Style     template.CSS
	Headline  []string
	Exempt    []string
	Reading   []string
	Head      []string
	Body      []pageGroup
	Invalid   []*outcome.Row
	Overview  []figure
	Sections  []section
	Published *pagePublished
	Again     []string
	Facts     []fact
}

// pagePublished is an article's table.
type pagePublished struct {
	*beside
	Figure figure
	Table  [][]string
}

// pageGroup is a group in the table.
type pageGroup struct {
	ID   string
	Rows []pageRow
}

type pageRow struct {
	Class   string // of the arm
	Invalid bool
	Cells   []pageCell
}

// pageCell has its interval apart, so that the eye finds the medians.
type pageCell struct{ Text, Interval string }

const (
	wide   = 1160 // pixels of a plot across the page
	narrow = 560  // of one of two
)

// section is a group in detail.
type section struct {
	ID, Name, Words string
	Figures         []figure
	Flows           []flowRow
	Models          []string
	Gates           []gateRecord
}

// htmlPage is the report for a browser: one file, no script, nothing loaded.
func htmlPage(f *Folder) ([]byte, error) {
	v := newView(&f.Summary)
	p := page{Folder: f, Style: template.CSS(plot.Style + PageStyle), Headline: v.headline(), Exempt: v.exemptions(), Reading: v.reading(),
		Invalid: v.invalid(), Overview: v.overview(), Again: f.Manifest.again(), Facts: f.Manifest.facts()}
	if b := v.published; b != nil {
		p.Published = &pagePublished{b, figure{"Published values beside measured ones", b.Shape.Text + ".", true, []svg{svg(b.plot(v).SVG())}}, b.table()}
	}
	shown := v.shown()
	for _, c := range shown {
		p.Head = append(p.Head, c.head)
	}
	for i := range v.groups {
		g := &v.groups[i]
		id := fmt.Sprintf("g%d", i+1)
		p.Body = append(p.Body, g.tableBody(id, shown))
		s, err := f.section(v, g, id)
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, s)
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("fill page: %w", err)
	}
	return b.Bytes(), nil
}

func (g *group) tableBody(id string, shown []column) pageGroup {
	out := pageGroup{ID: id}
	for _, l := range g.rows {
		r := pageRow{Class: class(l.arm), Invalid: l.Invalid > 0}
		for _, c := range shown {
			text, interval, found := strings.Cut(c.text(*g, l), " [")
			if found {
				interval = "[" + interval
			}
			r.Cells = append(r.Cells, pageCell{text, interval})
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

// overview are the figures over all groups, as far as the scenario measures them.
func (v *view) overview() []figure {
	out := []figure{{"Goodput", "Payload at the receiver over the whole transfer: median and 95 % interval, behind it the model's band.", true,
		[]svg{svg(v.forest(measure{title: "Goodput", unit: "Mbit/s", scale: mbit, width: wide, theory: true, of: goodput}).SVG())}}}
	for _, a := range v.Scenario.Arms[min(1, len(v.Scenario.Arms)):] {
		if h := v.heat(a.Name); h != nil {
			out = append(out, figure{a.Name + " against " + v.Scenario.Arms[0].Name, "Goodput divided by that of " + v.Scenario.Arms[0].Name + ".", true, []svg{svg(h.SVG())}})
		}
	}
	cost := figure{Title: "Time and cost", Note: "Open marks were ended by the scenario's time limit. The queue is what probes waited at the bottleneck."}
	for _, m := range []measure{
		{title: "Completion time", unit: "s", scale: second, of: completed, open: line.ended},
		{title: "Queue delay, 95th percentile", unit: "ms", scale: milli, of: queueP95},
		{title: "Sent again", unit: "% of bytes", scale: cent, of: func(l line) *outcome.Interval { return positive(l.Retrans) }},
		{title: "Rate on the wire", unit: "Mbit/s", scale: mbit, of: wire},
		{title: "Fairness, Jain's index", unit: "1: all flows alike", scale: 1, of: jain},
	} {
		if m.width = narrow; len(v.values(m)) > 0 {
			cost.SVG = append(cost.SVG, svg(v.forest(m).SVG()))
		}
	}
	return append(out, cost)
}

func goodput(l line) *outcome.Interval { return l.Goodput }

func completed(l line) *outcome.Interval {
	if !l.sized() {
		return nil
	}
	return l.Completed
}

// section is one group in detail.
func (f *Folder) section(v *view, g *group, id string) (section, error) {
	s := section{ID: id, Name: or(g.name, "all"), Words: g.words(), Flows: f.flowRows(g), Gates: f.gateRecords(g)}
	var traces []*trace
	for _, l := range g.rows {
		if text := theoryText(*g, l); text != "" {
			s.Models = append(s.Models, fmt.Sprintf("%s: %s Mbit/s by %s, bound %s Mbit/s. Measured: %s", l.Arm, text,
				l.Theory.Model, number(l.Theory.BoundBitPerS/mbit), or(verdictText(*g, l), "nothing")))
		}
		t, err := f.trace(v, l)
		if err != nil {
			return s, err
		}
		if t != nil {
			traces = append(traces, t)
		}
	}
	if traces != nil {
		s.Figures = append(s.Figures, seriesFigure(traces))
	}
	d, err := f.distributionFigure(g)
	if len(d.SVG) > 0 {
		s.Figures = append(s.Figures, d)
	}
	return s, err
}

// words are a group's outcome in a sentence.
func (g *group) words() string {
	switch w := g.winner; {
	case w.Arm != "" && w.Note != "":
		return w.Arm + " is best, but " + w.Note
	case w.Arm != "":
		return w.Arm + " is best"
	default:
		return w.Note
	}
}
