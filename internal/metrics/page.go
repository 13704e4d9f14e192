// Package metrics writes a page of metrics in the OpenMetrics text format 1.0, which Prometheus reads.
//
// It keeps no metric: each page is made of numbers that their owners count anyway.
//
// Its trap: the samples of a family stand together, so finish one family before the next one.
package metrics

import (
	"math"
	"strconv"
	"strings"
)

// ContentType is that of a page.
const ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Page is a page in the making; the zero value is empty.
type Page struct{ b []byte }

// Family is one metric with all its label values.
type Family struct {
	page *Page
	name string // of its samples
}

// Gauge begins a metric that goes up and down.
func (p *Page) Gauge(name, help string) Family { return p.begin(name, name, "gauge", help) }

// Counter begins a metric that only rises; its name ends in _total.
func (p *Page) Counter(name, help string) Family {
	return p.begin(strings.TrimSuffix(name, "_total"), name, "counter", help)
}

func (p *Page) begin(family, sample, kind, help string) Family {
	p.meta("TYPE", family, kind)
	for _, unit := range []string{"seconds", "bytes", "ratio"} {
		if strings.HasSuffix(family, "_"+unit) {
			p.meta("UNIT", family, unit)
		}
	}
	p.meta("HELP", family, escape(help))
	return Family{p, sample}
}

func (p *Page) meta(what, family, text string) {
	p.b = append(p.b, "# "+what+" "+family+" "+text+"\n"...)
}

// Is adds a sample. Labels are names and values in turn.
func (f Family) Is(value float64, labels ...string) Family {
	f.page.sample(f.name, value, labels)
	return f
}

// On is 1 for true.
func (f Family) On(yes bool, labels ...string) Family {
	if yes {
		return f.Is(1, labels...)
	}
	return f.Is(0, labels...)
}

// Histogram counts values up to each of its bounds. Not safe for concurrent use.
type Histogram struct {
	bounds []float64
	counts []uint64 // of values up to a bound and above the one before; the last is above all
	sum    float64
}

// NewHistogram makes one; bounds rise.
func NewHistogram(bounds ...float64) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// Add counts a value.
func (h *Histogram) Add(value float64) {
	at := 0
	for at < len(h.bounds) && value > h.bounds[at] {
		at++
	}
	h.counts[at]++
	h.sum += value
}

// Histogram writes a metric of values.
func (p *Page) Histogram(name, help string, h *Histogram) {
	p.begin(name, name, "histogram", help)
	sum := uint64(0)
	for i, n := range h.counts {
		sum += n
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i]
		}
		p.sample(name+"_bucket", float64(sum), []string{"le", number(bound)})
	}
	p.sample(name+"_sum", h.sum, nil)
	p.sample(name+"_count", float64(sum), nil)
}

func (p *Page) sample(name string, value float64, labels []string) {
	p.b = append(p.b, name...)
	before, after := "{", ""
	for i := 0; i+1 < len(labels); i += 2 {
		p.b = append(p.b, before+labels[i]+`="`+escape(labels[i+1])+`"`...)
		before, after = ",", "}"
	}
	p.b = append(p.b, after...)
	p.b = append(p.b, " "+number(value)+"\n"...)
}

// Text ends the page and returns it.
func (p *Page) Text() []byte { return append(p.b, "# EOF\n"...) }

// number writes whole numbers without an exponent, so that a person can read bytes and times.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case v == math.Trunc(v) && math.Abs(v) < 1<<53:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escape(s string) string { return escapes.Replace(strings.ToValidUTF8(s, "�")) }
