package report

import (
	"bytes"
	"cmp"
	_ "embed" // the page and its style
	"fmt"
	"html/template"
	"strings"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/plot"
	"github.com/congctl/congctl/internal/tcp/stat"
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

// page is what the templates of the page and of the text show.
type page struct {
	*view
	Folder *Folder
}

// Style has the rules of the page and its drawings.
func (page) Style() template.CSS { return template.CSS(plot.Style + PageStyle) }

// pageCell has its interval apart, so that the eye finds the medians.
type pageCell struct{ Text, Interval string }

const (
	wide   = 1160 // pixels of a plot across the page
	narrow = 560  // of one of two
)

// htmlPage is the report for a browser: one file, no script, nothing loaded.
func htmlPage(f *Folder) ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, page{newView(&f.Summary), f}); err != nil {
		return nil, fmt.Errorf("fill page: %w", err)
	}
	return b.Bytes(), nil
}

// Heads are the headings of the columns that have values.
func (v *view) Heads() (heads []string) { return v.Table()[0] }

// Cells are a row's.
func (v *view) Cells(g *group, l line) (out []pageCell) {
	for _, c := range v.shown {
		text, interval, found := strings.Cut(c.text(g, l), " [")
		if found {
			interval = "[" + interval
		}
		out = append(out, pageCell{text, interval})
	}
	return out
}

// Overview are the figures over all groups, as far as the scenario measures them.
func (v *view) Overview() []figure {
	out := []figure{{Title: "Goodput", Note: "Payload at the receiver over the whole transfer: median and 95 % interval, with the model's band behind.", Wide: true,
		SVG: []svg{svg(v.forest(measure{title: "Goodput", unit: "Mbit/s", scale: mbit, width: wide, theory: true, of: goodput}).SVG())}}}
	for _, a := range v.Scenario.Arms[min(1, len(v.Scenario.Arms)):] {
		if h := v.heat(a.Name); h != nil {
			out = append(out, figure{Title: a.Name + " against " + v.Scenario.Arms[0].Name, Note: "Goodput divided by that of " + v.Scenario.Arms[0].Name + ".", Wide: true, Heat: h})
		}
	}
	cost := figure{Title: "Time and cost", Note: "Open marks were cut by the scenario's time limit. The queue is the time that probes waited at the bottleneck."}
	for _, m := range []measure{
		{title: "Completion time", unit: "s", scale: second, of: completed, open: line.ended},
		{title: "Queue delay, 95th percentile", unit: "ms", scale: milli, of: queueP95},
		{title: "Retransmitted", unit: "% of bytes", scale: cent, of: func(l line) *outcome.Interval { return positive(l.Retrans) }},
		{title: "Rate on the wire", unit: "Mbit/s", scale: mbit, of: wire},
		{title: "Fairness, Jain's index", unit: "1: all flows equal", scale: 1, of: jain},
	} {
		if m.width = narrow; len(v.values(m)) > 0 {
			cost.SVG = append(cost.SVG, svg(v.forest(m).SVG()))
		}
	}
	out = append(out, cost)
	if b := v.Published; b != nil {
		out = append(out, figure{Title: "Published values beside measured ones", Note: b.Shape.Text + ".", Wide: true, SVG: []svg{svg(b.plot(v).SVG())}})
	}
	return out
}

func goodput(l line) *outcome.Interval { return l.Goodput }

func completed(l line) *outcome.Interval {
	if !l.sized() {
		return nil
	}
	return l.Completed
}

// Models are what theory says of a group's rows.
func (g *group) Models() (out []string) {
	for _, l := range g.Rows {
		if text := theoryText(g, l); text != "" {
			out = append(out, fmt.Sprintf("%s: %s Mbit/s by %s, bound %s Mbit/s. Measured: %s", l.Arm, text,
				l.Theory.Model, number(l.Theory.BoundBitPerS/mbit), cmp.Or(verdictText(g, l), "nothing")))
		}
	}
	return out
}

// Figures show a group's runs.
func (p page) Figures(g *group) (figures []figure, err error) {
	var traces []*trace
	for _, l := range g.Rows {
		t, err := p.Folder.trace(p.view, l)
		if err != nil {
			return nil, err
		}
		if t != nil {
			traces = append(traces, t)
		}
	}
	if traces != nil {
		figures = append(figures, seriesFigure(traces))
	}
	d, err := p.Folder.distributionFigure(g)
	if len(d.SVG) > 0 {
		figures = append(figures, d)
	}
	return figures, err
}

// Words are a group's outcome in a sentence.
func (g *group) Words() string {
	switch w := g.winner; {
	case w.Arm != "" && w.Note != "":
		return w.Arm + " is best, but " + w.Note
	case w.Arm != "":
		return w.Arm + " is best"
	default:
		return w.Note
	}
}

// flowRow is one flow of several that shared a bottleneck.
type flowRow struct {
	Class, Arm, Name, Cong  string
	Goodput, Steady, Resent string
}

// Flows are those of a group's valid cells; none where each has one flow only.
func (p page) Flows(g *group) (rows []flowRow) {
	for _, l := range g.Rows {
		if !valid(l.Row) || len(l.cell.Flows) < 2 {
			continue
		}
		for i, flow := range l.cell.Flows {
			of := func(number func(*outcome.FlowMetrics) float64, unit float64) string {
				return p.Folder.flowSpan(l.Cell, i, number, unit)
			}
			rows = append(rows, flowRow{class(l.arm), l.Arm, flow.Name, flow.Cong,
				of(func(m *outcome.FlowMetrics) float64 { return m.GoodputBitPerS }, mbit),
				of(func(m *outcome.FlowMetrics) float64 { return m.SteadyBitPerS }, mbit),
				of(func(m *outcome.FlowMetrics) float64 { return m.RetransShare }, cent)})
		}
	}
	return rows
}

// flowSpan is the median over a cell's runs of one flow's value.
func (f *Folder) flowSpan(cell string, flow int, of func(*outcome.FlowMetrics) float64, unit float64) string {
	var x []float64
	for _, r := range f.of(cell) {
		if r.Metrics != nil && flow < len(r.Metrics.Flows) {
			x = append(x, of(&r.Metrics.Flows[flow]))
		}
	}
	if x == nil {
		return "-"
	}
	return span(outcome.NewInterval(stat.MedianInterval(x)), unit)
}
