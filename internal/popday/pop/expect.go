package pop

import (
	"maps"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/strict"
)

// Expectation bounds one measure of each policy under which congctl treats: what the day is there
// to show.
type Expectation struct {
	Measure     string   // one of Measures
	Of          string   // a class; "" for all
	Least, Most *float64 // nil: no bound
	Above       *float64 // the whole 95 % interval must be
}

// Measure is something of such a policy that a day can bound.
type Measure struct {
	About    string
	ByClass  bool // can be that of one class
	Interval bool // has one
	Share    bool // is written in per cent
	Hours    bool // is a time
}

// Measures by name. Counts of networks are over all seeds.
var Measures = map[string]Measure{
	"effect":              {About: "p10 goodput of large responses in treated blocks, relative to control blocks", ByClass: true, Interval: true},
	"gain":                {About: "p10 goodput of large responses, relative to treating nothing", Interval: true},
	"gain_share":          {About: "share of the p10 gain from treating everything", Interval: true, Share: true},
	"gain_share_late":     {About: "share of the p10 gain from treating everything, in the last hours", Interval: true, Share: true},
	"gain_of_switch":      {About: "share of the p10 gain from switching every large response at 100,000 bytes", Interval: true, Share: true},
	"gain_of_switch_late": {About: "share of the p10 gain from switching every large response at 100,000 bytes, in the last hours", Interval: true, Share: true},
	"gain_hours":          {About: "hours, at windows of 5 minutes, until it has 80 % of its late p10 gain", Hours: true},
	"truth_missed":        {About: "estimates whose interval misses the truth (everything treated)"},
	"switch_missed":       {About: "estimates whose interval misses the truth (every large response switched at 100,000 bytes)"},
	"new_share":           {About: "share of the selected networks that are new in a round, after the ramp", Share: true},
	"selected":            {About: "networks selected for treatment", ByClass: true},
	"treated":             {About: "networks with a treated response", ByClass: true},
	"promoted":            {About: "networks promoted", ByClass: true},
	"harmed":              {About: "networks slowed down"},
	"guarded_treated":     {About: "networks with a treated response whose limit is not the congestion control", ByClass: true},
	"harmed_long":         {About: "networks slowed down while treated for more than two hours, at windows of 5 minutes"},
	"neighbour_loss":      {About: "what clients of other servers lose on shared lines, of what they lose with everything treated", Share: true},
	"vain":                {About: "share of large responses' bytes on trials that end without benefit", Share: true},
	"extra_resent":        {About: "bytes retransmitted beyond treating nothing, of those that treating everything adds", ByClass: true, Share: true},
	"resent_ratio":        {About: "bytes retransmitted, relative to treating nothing", ByClass: true, Share: true},
	"kept":                {About: "goodput of large responses in the last hours, relative to the same policy without a pacing cap; of the class with least", ByClass: true, Interval: true, Share: true},
	"kept_worst":          {About: "the same of the network with least", ByClass: true, Share: true},
	"precision":           {About: "networks tried that gain more than 1.2 times by a switch, of all tried", Share: true},
	"recall":              {About: "networks tried that gain more than 1.2 times by a switch, of all that gain", Share: true},
	"small_treated":       {About: "fresh responses below 100,000 bytes that were treated"},
	"resent":              {About: "bytes retransmitted, relative to treating everything", Share: true},
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
