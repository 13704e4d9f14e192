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

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template shows.
type page struct {
	*Folder
	Style     template.CSS
	Headline  []string
	Reading   []string
	Head      []string
	Body      []pageGroup
	Invalid   []*outcome.Row
	Overview  []figure
	Sections  []section
	Published *Published
	Again     []string
	Facts     []fact
}

// pageGroup is a group in the table.
type pageGroup struct {
	ID   string
	Rows []pageRow
}

type pageRow struct {
	Class   string // of the arm
	Invalid bool
	Cells   []string
}

// section is a group in detail.
type section struct {
	ID, Name, Words string
	Figures         []figure
	Models          []string
	Gates           []gateRecord
}

// htmlPage is the report for a browser: one file, no script, nothing loaded.
func htmlPage(f *Folder) ([]byte, error) {
	v := newView(&f.Summary)
	p := page{Folder: f, Style: template.CSS(plot.Style + pageStyle), Headline: v.headline(), Reading: v.reading(),
		Invalid: v.invalid(), Overview: v.overview(), Again: f.Manifest.again(), Facts: f.Manifest.facts()}
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
			r.Cells = append(r.Cells, c.text(*g, l))
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

// overview are the figures over all groups, as far as the scenario measures them.
func (v *view) overview() (out []figure) {
	add := func(title, note string, drawing interface{ SVG() string }) {
		out = append(out, figure{title, note, []svg{svg(drawing.SVG())}})
	}
	add("Goodput", "Payload at the receiver over the whole transfer: median and 95 % interval, the model's band behind it.",
		v.forest(measure{title: "Goodput", unit: "Mbit/s", scale: mbit, theory: true, of: func(l line) *outcome.Interval { return l.Goodput }}))
	for _, a := range v.Scenario.Arms[min(1, len(v.Scenario.Arms)):] {
		if h := v.heat(a.Name); h != nil {
			add(a.Name+" against "+v.Scenario.Arms[0].Name, "Goodput of "+a.Name+" divided by that of "+v.Scenario.Arms[0].Name+".", h)
		}
	}
	for _, m := range []struct {
		measure
		note string
	}{
		{measure{title: "Completion time", unit: "s", scale: second, of: completed, open: line.ended}, "Until the last byte arrived. Open marks were ended by the scenario's time limit."},
		{measure{title: "Queue delay, 95th percentile", unit: "ms", scale: milli, of: queueP95}, "What probes waited at the bottleneck while flows ran."},
		{measure{title: "Sent again", unit: "% of bytes", scale: cent, of: func(l line) *outcome.Interval { return positive(l.Retrans) }}, "Bytes sent again, of all bytes sent."},
	} {
		if len(v.values(m.measure)) > 0 {
			add(m.title, m.note, v.forest(m.measure))
		}
	}
	return out
}

func completed(l line) *outcome.Interval {
	if !l.sized() {
		return nil
	}
	return l.Completed
}

func queueP95(l line) *outcome.Interval {
	if l.cell.ProbeUs == 0 {
		return nil
	}
	return l.QueueP95
}

// section is one group in detail.
func (f *Folder) section(v *view, g *group, id string) (section, error) {
	s := section{ID: id, Name: or(g.name, "all"), Words: g.words(), Gates: f.gateRecords(g)}
	var traces []*trace
	for _, l := range g.rows {
		if l.Theory != nil && l.Theory.Model != "" {
			s.Models = append(s.Models, fmt.Sprintf("%s: %s. %s", l.Arm, l.Theory.Model, verdictText(*g, l)))
		}
		t, err := f.trace(v, l)
		if err != nil {
			return s, err
		}
		if t != nil {
			traces = append(traces, t)
		}
	}
	s.Figures = seriesFigures(traces)
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

func joined(words []string) string { return strings.Join(words, ", ") }
