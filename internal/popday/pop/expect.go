package pop

import (
	"maps"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/strict"
)

// Expectation bounds one measure of the policy loop: what the day is there to show.
type Expectation struct {
	Measure     string   // one of Measures
	Of          string   // a class; "" for all
	Least, Most *float64 // nil: no bound
	Above       *float64 // the whole 95 % interval must be
}

// Measure is something of the policy loop that a day can bound.
type Measure struct {
	About    string
	ByClass  bool // can be that of one class
	Interval bool // has one
	Share    bool // is written in per cent
}

// Measures by name. Counts of networks are over all seeds.
var Measures = map[string]Measure{
	"effect":          {About: "p10 goodput of large responses in treated blocks, relative to control blocks", ByClass: true, Interval: true},
	"gain":            {About: "p10 goodput of large responses, relative to treating nothing", Interval: true},
	"gain_share":      {About: "share of the p10 gain from treating everything", Interval: true, Share: true},
	"gain_share_late": {About: "share of the p10 gain from treating everything, in the last hours", Interval: true, Share: true},
	"truth_missed":    {About: "estimates whose interval misses the truth (everything treated)"},
	"switch_missed":   {About: "estimates whose interval misses the truth (every large response switched at 100,000 bytes)"},
	"new_share":       {About: "share of the selected networks that are new in a round, after the ramp", Share: true},
	"selected":        {About: "networks selected for treatment", ByClass: true},
	"treated":         {About: "networks with a treated response", ByClass: true},
	"promoted":        {About: "networks promoted", ByClass: true},
	"harmed":          {About: "networks slowed down"},
	"small_treated":   {About: "fresh responses below 100,000 bytes that were treated"},
	"resent":          {About: "bytes retransmitted, relative to treating everything", Share: true},
}

var expectKeys = []strict.Key[Expectation]{
	strict.Put("measure", scenario.ReadWord, func(e *Expectation) *string { return &e.Measure }),
	strict.Put("of", scenario.ReadWord, func(e *Expectation) *string { return &e.Of }),
	strict.Put("least", strict.Given(readBound), func(e *Expectation) **float64 { return &e.Least }),
	strict.Put("most", strict.Given(readBound), func(e *Expectation) **float64 { return &e.Most }),
	strict.Put("above", strict.Given(readBound), func(e *Expectation) **float64 { return &e.Above }),
}

// readBound reads a number, as in 1.12, or a share, as in 40%.
func readBound(s string) (float64, error) {
	if strings.HasSuffix(s, "%") {
		ppm, err := scenario.ReadShare(s)
		return float64(ppm) / 1e6, err
	}
	ppm, err := readMean(s)
	return float64(ppm) / 1e6, err
}

func (p *parser) checkExpectation(n *node, e *Expectation) {
	m, known := Measures[e.Measure]
	switch {
	case !known:
		p.r.Fault(n, "expect.measure", e.Measure, "unknown; write "+strings.Join(slices.Sorted(maps.Keys(Measures)), ", "))
	case e.Of != "" && !m.ByClass:
		p.r.Fault(n, "expect.of", e.Of, e.Measure+" is of all networks; leave it out")
	case e.Of != "" && !slices.ContainsFunc(p.day.Classes, func(c Class) bool { return c.Name == e.Of }):
		p.r.Fault(n, "expect.of", e.Of, "no networks of that name; write one of networks.name")
	case e.Least == nil && e.Most == nil && e.Above == nil:
		p.r.Fault(n, "expect", e.Measure, "no bound; write least, most or above, as in least: 1.1")
	case e.Above != nil && !m.Interval:
		p.r.Fault(n, "expect.above", "", e.Measure+" has no interval; write least or most")
	}
}
