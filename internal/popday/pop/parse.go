package pop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/strict"
)

type node = strict.Node

// Parse reads and checks one YAML document. The error names every fault with its line; name
// is the file's, only for the error.
func Parse(name string, text []byte) (*Day, error) {
	p := &parser{traffic: defaultTraffic()}
	p.read(text)
	if err := p.r.Faults.Err(); err != nil {
		return nil, fmt.Errorf("read scenario %s:\n%w", name, err)
	}
	return &p.day, nil
}

// parser holds what one section needs from another.
type parser struct {
	r       strict.Reader
	day     Day
	traffic Traffic // of networks that set no other
}

func defaultTraffic() Traffic {
	return Traffic{FetchesPPM: 2_400_000, PagesPPM: 2_000_000, Large: Range{150_000, 250_000}, Small: Range{5_000, 60_000},
		Larges: 1, Smalls: 4, Flows: 1, ThinkUs: 300_000}
}

var topKeys = []string{"name", "about", "notes", "window", "length", "end", "qdisc", "default", "congctl", "static", "traffic", "networks", "faults", "expect"}

func readText(s string) (string, error) { return strings.TrimSpace(s), nil }

var dayKeys = []strict.Key[Day]{
	strict.Put("name", scenario.ReadWord, func(d *Day) *string { return &d.Name }),
	strict.Put("about", readText, func(d *Day) *string { return &d.About }),
	strict.Put("notes", readText, func(d *Day) *string { return &d.Notes }),
	strict.Put("window", readSpan, func(d *Day) *uint64 { return &d.WindowUs }),
	strict.Put("length", readSpan, func(d *Day) *uint64 { return &d.LengthUs }),
	strict.Put("end", readSpan, func(d *Day) *uint64 { return &d.EndUs }),
	strict.Put("qdisc", scenario.ReadWord, func(d *Day) *string { return &d.Qdisc }),
	strict.Put("default", scenario.ReadWord, func(d *Day) *string { return &d.Default }),
	strict.Put("congctl", readText, func(d *Day) *string { return &d.Congctl }),
}

var trafficKeys = []strict.Key[Traffic]{
	strict.Put("fetches", readMean, func(t *Traffic) *uint64 { return &t.FetchesPPM }),
	strict.Put("pages", readMean, func(t *Traffic) *uint64 { return &t.PagesPPM }),
	strict.Put("large", readRange, func(t *Traffic) *Range { return &t.Large }),
	strict.Put("small", readRange, func(t *Traffic) *Range { return &t.Small }),
	strict.Put("larges", scenario.ReadCount, func(t *Traffic) *int { return &t.Larges }),
	strict.Put("smalls", scenario.ReadCount, func(t *Traffic) *int { return &t.Smalls }),
	strict.Put("flows", scenario.ReadCount, func(t *Traffic) *int { return &t.Flows }),
	strict.Put("think", readSpan, func(t *Traffic) *uint64 { return &t.ThinkUs }),
	strict.Put("http2", scenario.ReadShare, func(t *Traffic) *uint32 { return &t.HTTP2PPM }),
	strict.Put("app_rate", scenario.ReadRate, func(t *Traffic) *uint64 { return &t.AppBitPerS }),
	strict.Put("rcvbuf", scenario.ReadSize, func(t *Traffic) *uint64 { return &t.Rcvbuf }),
}

var pathKeys = []strict.Key[Class]{
	ranged("rate", scenario.ReadRate, func(p *Path) *uint64 { return &p.RateBitPerS }),
	ranged("rtt", readSpan, func(p *Path) *uint64 { return &p.RTTUs }),
	ranged("jitter", readSpan, func(p *Path) *uint64 { return &p.JitterUs }),
	ranged("loss", scenario.ReadShare, func(p *Path) *uint32 { return &p.LossPPM }),
	ranged("loss_burst", readRun, func(p *Path) *uint64 { return &p.LossBurst }),
	{Name: "buffer", Set: setBuffer},
	strict.Put("policer", scenario.ReadSwitch, func(c *Class) *bool { return &c.Path.Policer }),
	ranged("burst", scenario.ReadSize, func(p *Path) *uint64 { return &p.BurstBytes }),
}

var varyKeys = []strict.Key[Vary]{
	strict.Put("sd", scenario.ReadShare, func(v *Vary) *uint32 { return &v.SDPPM }),
	strict.Put("memory", readSpan, func(v *Vary) *uint64 { return &v.MemoryUs }),
	strict.Put("every", readSpan, func(v *Vary) *uint64 { return &v.EveryUs }),
}

var whenKeys = []strict.Key[When]{
	strict.Put("from", readSpan, func(w *When) *uint64 { return &w.FromUs }),
	strict.Put("for", readSpan, func(w *When) *uint64 { return &w.ForUs }),
	strict.Put("every", readSpan, func(w *When) *uint64 { return &w.EveryUs }),
	strict.Put("rate", strict.Given(scenario.ReadRate), func(w *When) **uint64 { return &w.RateBitPerS }),
	strict.Put("rtt", strict.Given(readSpan), func(w *When) **uint64 { return &w.RTTUs }),
	strict.Put("loss", strict.Given(scenario.ReadShare), func(w *When) **uint32 { return &w.LossPPM }),
}

var faultKeys = []strict.Key[Fault]{
	strict.Put("at", readSpan, func(f *Fault) *uint64 { return &f.AtUs }),
	strict.Put("do", scenario.ReadWord, func(f *Fault) *string { return &f.Do }),
	strict.Put("by", readStep, func(f *Fault) *int64 { return &f.ByUs }),
}

var classKeys = []strict.Key[Class]{
	strict.Put("name", scenario.ReadWord, func(c *Class) *string { return &c.Name }),
	strict.Put("count", scenario.ReadCount, func(c *Class) *int { return &c.Count }),
	strict.Put("sites", scenario.ReadCount, func(c *Class) *int { return &c.Sites }),
	strict.Put("behind", scenario.ReadWord, func(c *Class) *string { return &c.Behind }),
	strict.Put("server", scenario.ReadWord, func(c *Class) *string { return &c.Server }),
	strict.Put("spread", scenario.ReadShare, func(c *Class) *uint32 { return &c.SpreadPPM }),
}

func (p *parser) read(b []byte) {
	root := scenario.Document(&p.r, b)
	if root == nil {
		return
	}
	p.day.Qdisc, p.day.Default = "fq", "cubic"
	var networks, expect *node // read last: the default traffic and the classes come before them
	p.r.Each(root, "", func(name string, k, v *node) {
		switch name {
		case "static":
			p.static(v)
		case "traffic":
			strict.Fill(&p.r, &p.traffic, trafficKeys, name, v)
		case "networks":
			networks = v
		case "expect":
			expect = v
		case "faults":
			for _, item := range p.r.List(v, name) {
				var f Fault
				strict.Fill(&p.r, &f, faultKeys, name, item)
				p.checkFault(item, &f)
				p.day.Faults = append(p.day.Faults, f)
			}
		default:
			if !slices.Contains(topKeys, name) {
				p.r.Unknown(k, name, topKeys)
				return
			}
			strict.Give(&p.r, &p.day, dayKeys, name, name, k, v)
		}
	})
	if networks != nil {
		for _, item := range p.r.List(networks, "networks") {
			p.class(item)
		}
	}
	if expect != nil {
		for _, item := range p.r.List(expect, "expect") {
			var e Expectation
			strict.Fill(&p.r, &e, expectKeys, "expect", item)
			p.checkExpectation(item, &e)
			p.day.Expect = append(p.day.Expect, e)
		}
	}
	p.check(root)
}

func (p *parser) static(n *node) {
	for _, item := range p.r.List(n, "static") {
		if s, ok := p.r.Scalar(item, "static"); ok {
			p.day.Static = append(p.day.Static, s)
		}
	}
}

// usualBuffer is that of a path that names none.
var usualBuffer = Buffer{Us: 100_000}

func (p *parser) class(n *node) {
	c := Class{Count: 1, Traffic: p.traffic, Path: Path{Buffer: usualBuffer}, Vary: Vary{MemoryUs: 3600e6, EveryUs: 60e6}}
	p.r.Each(n, "networks", func(name string, k, v *node) {
		field := "networks." + name
		switch name {
		case "path":
			strict.Fill(&p.r, &c, pathKeys, field, v)
		case "vary":
			strict.Fill(&p.r, &c.Vary, varyKeys, field, v)
		case "traffic":
			strict.Fill(&p.r, &c.Traffic, trafficKeys, field, v)
		case "when":
			for _, item := range p.r.List(v, field) {
				var w When
				strict.Fill(&p.r, &w, whenKeys, field, item)
				c.Whens = append(c.Whens, w)
			}
		default:
			if !slices.Contains(strict.Names(classKeys), name) {
				p.r.Unknown(k, field, append(strict.Names(classKeys), "path", "vary", "traffic", "when"))
				return
			}
			strict.Give(&p.r, &c, classKeys, field, name, k, v)
		}
	})
	p.checkClass(n, &c)
	p.day.Classes = append(p.day.Classes, c)
}
