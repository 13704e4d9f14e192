package pop

import (
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/scenario"
)

type node = scenario.Node

// Parse reads and checks one YAML document. The error names every fault with its line;
// name is the file's, for the error alone.
func Parse(name string, text []byte) (*Day, error) {
	p := &parser{traffic: defaultTraffic()}
	p.read(text)
	if err := p.r.Err(name); err != nil {
		return nil, err
	}
	return &p.day, nil
}

// parser holds what a section needs of another one.
type parser struct {
	r       scenario.Reader
	day     Day
	traffic Traffic // of networks that say nothing else
}

func defaultTraffic() Traffic {
	return Traffic{FetchesPPM: 2_400_000, PagesPPM: 2_000_000, Large: Range{150_000, 250_000}, Small: Range{5_000, 60_000},
		Larges: 1, Smalls: 4, ThinkUs: 300_000}
}

var topKeys = []string{"name", "about", "notes", "window", "length", "end", "qdisc", "default", "congctl", "static", "traffic", "networks", "faults"}

func readText(s string) (string, error) { return strings.TrimSpace(s), nil }

var dayKeys = []scenario.Key[Day]{
	scenario.Put("name", scenario.ReadWord, func(d *Day) *string { return &d.Name }),
	scenario.Put("about", readText, func(d *Day) *string { return &d.About }),
	scenario.Put("notes", readText, func(d *Day) *string { return &d.Notes }),
	scenario.Put("window", readSpan, func(d *Day) *uint64 { return &d.WindowUs }),
	scenario.Put("length", readSpan, func(d *Day) *uint64 { return &d.LengthUs }),
	scenario.Put("end", readSpan, func(d *Day) *uint64 { return &d.EndUs }),
	scenario.Put("qdisc", scenario.ReadWord, func(d *Day) *string { return &d.Qdisc }),
	scenario.Put("default", scenario.ReadWord, func(d *Day) *string { return &d.Default }),
	scenario.Put("congctl", readText, func(d *Day) *string { return &d.Congctl }),
}

var trafficKeys = []scenario.Key[Traffic]{
	scenario.Put("fetches", readMean, func(t *Traffic) *uint64 { return &t.FetchesPPM }),
	scenario.Put("pages", readMean, func(t *Traffic) *uint64 { return &t.PagesPPM }),
	scenario.Put("large", readRange, func(t *Traffic) *Range { return &t.Large }),
	scenario.Put("small", readRange, func(t *Traffic) *Range { return &t.Small }),
	scenario.Put("larges", scenario.ReadCount, func(t *Traffic) *int { return &t.Larges }),
	scenario.Put("smalls", scenario.ReadCount, func(t *Traffic) *int { return &t.Smalls }),
	scenario.Put("think", readSpan, func(t *Traffic) *uint64 { return &t.ThinkUs }),
	scenario.Put("http2", scenario.ReadShare, func(t *Traffic) *uint32 { return &t.HTTP2PPM }),
	scenario.Put("app_rate", scenario.ReadRate, func(t *Traffic) *uint64 { return &t.AppBitPerS }),
	scenario.Put("rcvbuf", scenario.ReadSize, func(t *Traffic) *uint64 { return &t.Rcvbuf }),
}

var pathKeys = []scenario.Key[Path]{
	scenario.Put("rate", scenario.ReadRate, func(p *Path) *uint64 { return &p.RateBitPerS }),
	scenario.Put("rtt", readSpan, func(p *Path) *uint64 { return &p.RTTUs }),
	scenario.Put("jitter", readSpan, func(p *Path) *uint64 { return &p.JitterUs }),
	scenario.Put("loss", scenario.ReadShare, func(p *Path) *uint32 { return &p.LossPPM }),
	scenario.Put("buffer", readBuffer, func(p *Path) *Buffer { return &p.Buffer }),
	scenario.Put("policer", scenario.ReadSwitch, func(p *Path) *bool { return &p.Policer }),
	scenario.Put("burst", scenario.ReadSize, func(p *Path) *uint64 { return &p.BurstBytes }),
}

var varyKeys = []scenario.Key[Vary]{
	scenario.Put("sd", scenario.ReadShare, func(v *Vary) *uint32 { return &v.SDPPM }),
	scenario.Put("memory", readSpan, func(v *Vary) *uint64 { return &v.MemoryUs }),
	scenario.Put("every", readSpan, func(v *Vary) *uint64 { return &v.EveryUs }),
}

var whenKeys = []scenario.Key[When]{
	scenario.Put("from", readSpan, func(w *When) *uint64 { return &w.FromUs }),
	scenario.Put("for", readSpan, func(w *When) *uint64 { return &w.ForUs }),
	scenario.Put("every", readSpan, func(w *When) *uint64 { return &w.EveryUs }),
	scenario.Put("rate", given(scenario.ReadRate), func(w *When) **uint64 { return &w.RateBitPerS }),
	scenario.Put("rtt", given(readSpan), func(w *When) **uint64 { return &w.RTTUs }),
	scenario.Put("loss", given(scenario.ReadShare), func(w *When) **uint32 { return &w.LossPPM }),
}

var faultKeys = []scenario.Key[Fault]{
	scenario.Put("at", readSpan, func(f *Fault) *uint64 { return &f.AtUs }),
	scenario.Put("do", scenario.ReadWord, func(f *Fault) *string { return &f.Do }),
	scenario.Put("by", readStep, func(f *Fault) *int64 { return &f.ByUs }),
}

var classKeys = []scenario.Key[Class]{
	scenario.Put("name", scenario.ReadWord, func(c *Class) *string { return &c.Name }),
	scenario.Put("count", scenario.ReadCount, func(c *Class) *int { return &c.Count }),
	scenario.Put("spread", scenario.ReadShare, func(c *Class) *uint32 { return &c.SpreadPPM }),
}

func (p *parser) read(b []byte) {
	root := p.r.Document(b)
	if root == nil {
		return
	}
	p.day.Qdisc, p.day.Default = "fq", "cubic"
	var networks *node // read last: the traffic of all comes before
	p.r.Each(root, "", func(name string, k, v *node) {
		switch name {
		case "static":
			p.static(v)
		case "traffic":
			fields(p, &p.traffic, trafficKeys, name, v)
		case "networks":
			networks = v
		case "faults":
			for _, item := range p.r.List(v, name) {
				var f Fault
				fields(p, &f, faultKeys, name, item)
				p.checkFault(item, &f)
				p.day.Faults = append(p.day.Faults, f)
			}
		default:
			if !slices.Contains(topKeys, name) {
				p.r.Unknown(k, name, topKeys)
				return
			}
			scenario.Give(&p.r, &p.day, dayKeys, name, name, k, v)
		}
	})
	if networks != nil {
		for _, item := range p.r.List(networks, "networks") {
			p.class(item)
		}
	}
	p.check(root)
}

// fields reads a section that has scalar keys only.
func fields[T any](p *parser, t *T, keys []scenario.Key[T], field string, n *node) {
	p.r.Each(n, field, func(name string, k, v *node) { scenario.Give(&p.r, t, keys, field+"."+name, name, k, v) })
}

func (p *parser) static(n *node) {
	for _, item := range p.r.List(n, "static") {
		if s, ok := p.r.Scalar(item, "static"); ok {
			p.day.Static = append(p.day.Static, s)
		}
	}
}

func (p *parser) class(n *node) {
	c := Class{Count: 1, Traffic: p.traffic, Path: Path{Buffer: Buffer{Us: 100_000}}, Vary: Vary{MemoryUs: 3600e6, EveryUs: 60e6}}
	p.r.Each(n, "networks", func(name string, k, v *node) {
		field := "networks." + name
		switch name {
		case "path":
			fields(p, &c.Path, pathKeys, field, v)
		case "vary":
			fields(p, &c.Vary, varyKeys, field, v)
		case "traffic":
			fields(p, &c.Traffic, trafficKeys, field, v)
		case "when":
			for _, item := range p.r.List(v, field) {
				var w When
				fields(p, &w, whenKeys, field, item)
				c.Whens = append(c.Whens, w)
			}
		default:
			if !slices.Contains(scenario.Names(classKeys), name) {
				p.r.Unknown(k, field, append(scenario.Names(classKeys), "path", "vary", "traffic", "when"))
				return
			}
			scenario.Give(&p.r, &c, classKeys, field, name, k, v)
		}
	})
	p.checkClass(n, &c)
	p.day.Classes = append(p.day.Classes, c)
}
