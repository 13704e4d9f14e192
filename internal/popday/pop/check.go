package pop

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// maxNetworks is what the benchmark range has room for.
	maxNetworks = 500
	// minRate: below it, a packet of full size takes more than a second and a half.
	minRate = 8_000
	// maxRTT: two seconds are worse than a satellite.
	maxRTTUs = 2e6
	// maxSessions of a day: 200 bytes each.
	maxSessions = 2_000_000
	maxBurst    = 1 << 30
	// maxBurstLoss, millionths: with a larger share, the gaps between bursts would be shorter than a packet.
	maxBurstLoss = 500_000
	// maxSites is what the byte before a network's number has room for, without the edge's own.
	maxSites = 250
)

var deeds = []string{Kill, Stop, Start, Pause, Resume, StepClock, EmptyStore}

func (p *parser) check(root *node) {
	d := &p.day
	if d.EndUs == 0 {
		d.EndUs = d.LengthUs
	}
	for _, rule := range []struct {
		broken         bool
		field, problem string
	}{
		{d.Name == "", "name", "missing; write the file's name without .yml"},
		{d.About == "" || strings.Contains(d.About, "\n"), "about", "missing; write one line on what is in the day"},
		{d.WindowUs == 0 || d.WindowUs%1e6 != 0, "window", "missing; write whole seconds, as in 2m"},
		{d.LengthUs == 0 || d.WindowUs > 0 && d.LengthUs%d.WindowUs != 0, "length", "missing; write whole windows, as in 4h"},
		{d.EndUs > d.LengthUs || d.WindowUs > 0 && d.EndUs%d.WindowUs != 0, "end", "above length, or not whole windows; write a multiple of window"},
		{d.Qdisc != "fq" && d.Qdisc != "pfifo_fast", "qdisc", "unknown; write fq or pfifo_fast"},
		{d.Default != "cubic" && d.Default != "bbr", "default", "unknown; write cubic or bbr"},
		{len(d.Classes) == 0, "networks", "missing; write at least one, as in - {name: fibre, path: {rate: 40mbit, rtt: 12ms}}"},
		{d.sessions() > maxSessions, "traffic", fmt.Sprintf("%.0f sessions in a day; at most %d", d.sessions(), maxSessions)},
		{d.sites() > maxSites, "networks.sites", fmt.Sprintf("%d of them; at most %d in all", d.sites(), maxSites)},
		{d.count() > maxNetworks, "networks", fmt.Sprintf("%d of them; at most %d", d.count(), maxNetworks)},
	} {
		if rule.broken {
			p.r.Fault(root, rule.field, "", rule.problem)
		}
	}
	for _, name := range d.Static {
		if !slices.ContainsFunc(d.Classes, func(c Class) bool { return c.Name == name && !c.Theirs() }) {
			p.r.Fault(root, "static", name, "no networks of that name that the edge serves; write one of networks.name")
		}
	}
	for _, f := range d.Faults {
		if f.AtUs >= d.LengthUs {
			p.r.Fault(root, "faults.at", f.Do, "after the day's end; write less than length")
		}
	}
}

func (d *Day) count() (n int) {
	for _, c := range d.Classes {
		n += c.Count
	}
	return n
}

func (d *Day) sites() (n int) {
	for _, c := range d.Classes {
		n += c.Sites
	}
	return n
}

// sessions returns the expected number of sessions.
func (d *Day) sessions() (n float64) {
	for _, c := range d.Classes {
		n += float64(c.Count) * float64(uint64(c.Traffic.Flows)*c.Traffic.FetchesPPM+c.Traffic.PagesPPM) / 1e6 * float64(d.LengthUs) / float64(max(d.WindowUs, 1))
	}
	return n
}

func (p *parser) checkFault(n *node, f *Fault) {
	switch {
	case !slices.Contains(deeds, f.Do):
		p.r.Fault(n, "faults.do", f.Do, "unknown; write "+strings.Join(deeds, ", "))
	case (f.Do == StepClock) != (f.ByUs != 0):
		p.r.Fault(n, "faults.by", "", "goes with step_clock and no other; write do: step_clock, by: 10m")
	}
}

// checkNeighbour gives a class the path of the one that it is behind, and the losses of its own that a neighbour on the edge may have.
func (p *parser) checkNeighbour(c *Class, bad func(field, problem string)) {
	i := slices.IndexFunc(p.day.Classes, func(o Class) bool { return o.Name == c.Behind && o.Behind == "" })
	own := Path{Buffer: usualBuffer}
	if !c.Theirs() {
		own.LossPPM, own.LossBurst = c.Path.LossPPM, c.Path.LossBurst
	}
	switch {
	case !slices.Contains([]string{"", ServerOther, ServerEdge}, c.Server):
		bad("server", c.Server+" is unknown; write edge or other")
	case i < 0 || p.day.Classes[i].Count < c.Count:
		bad("behind", "no networks of that name above, or fewer; write the name of a class with a path of its own")
	case c.Path != own || c.Most != Path{} || c.Vary.SDPPM > 0 || len(c.Whens) > 0 || c.SpreadPPM > 0:
		bad("behind", "shares the path of "+c.Behind+"; leave out path, spread, vary and when, but for path.loss with server: edge")
	default:
		c.Path, c.Most, c.SpreadPPM = p.day.Classes[i].Path, p.day.Classes[i].Most, p.day.Classes[i].SpreadPPM
		if !c.Theirs() {
			c.Path.LossPPM, c.Path.LossBurst = own.LossPPM, own.LossBurst
			p.checkLoss(c, bad)
			if c.Most != (Path{}) {
				c.Most.LossPPM, c.Most.LossBurst = own.LossPPM, own.LossBurst
			}
		}
	}
}

func (p *parser) checkLoss(c *Class, bad func(field, problem string)) {
	if c.Path.LossBurst > 0 && (max(c.Path.LossPPM, c.Most.LossPPM) == 0 || max(c.Path.LossPPM, c.Most.LossPPM) > maxBurstLoss) {
		bad("path.loss_burst", "goes with a loss, of at most 50%; write both, as in loss: 2%, loss_burst: 8p")
	}
}

func (p *parser) checkClass(n *node, c *Class) {
	bad := func(field, problem string) { p.r.Fault(n, "networks."+field, "", c.Name+": "+problem) }
	if c.Name == "" {
		bad("name", "missing; write one word")
	}
	if slices.ContainsFunc(p.day.Classes, func(o Class) bool { return o.Name == c.Name }) {
		bad("name", "a second one of this name; write another")
	}
	if c.Count < 1 {
		bad("count", "none; write 1 or more")
	}
	if t := &c.Traffic; t.Larges < 1 || t.Smalls < 1 || t.Larges > 100 || t.Smalls > 100 || t.Flows < 1 || t.Flows > 100 {
		bad("traffic", "larges, smalls and flows are 1 to 100")
	}
	switch {
	case c.Behind != "":
		p.checkNeighbour(c, bad)
		return
	case c.Server != "":
		bad("server", "goes with behind; leave it out: the edge serves networks with a path of their own")
	}
	if c.Path.RateBitPerS < minRate {
		bad("path.rate", "missing, or too little; write 8kbit or more")
	}
	if max(c.Path.RTTUs, c.Most.RTTUs) > maxRTTUs || max(c.Path.JitterUs, c.Most.JitterUs) > c.Path.RTTUs/2 {
		bad("path.rtt", "above 2s, or less than twice the jitter; write it as in 30ms")
	}
	p.checkLoss(c, bad)
	if c.Path.Buffer.BDPPPM > 0 && c.Path.RTTUs == 0 {
		bad("path.buffer", "a multiple of no round trip; write rtt, or packets or a time, as in 20p or 100ms")
	}
	if c.Path.Policer != (c.Path.BurstBytes >= frame && max(c.Path.BurstBytes, c.Most.BurstBytes) <= maxBurst) {
		bad("path.burst", "goes with policer: on and no other; write it as in 30kB, a full packet at least")
	}
	if c.Vary.SDPPM > 0 && (c.Vary.EveryUs < 1e6 || c.Vary.MemoryUs == 0 || c.Path.Policer) {
		bad("vary", "oftener than a second, without memory, or of a policer; write every: 5s, memory: 1m")
	}
	for _, w := range c.Whens {
		switch {
		case w.ForUs < 1e6 || w.EveryUs > 0 && w.EveryUs <= w.ForUs:
			bad("when.for", "missing, less than a second, or not shorter than every; write how long it lasts")
		case w.RateBitPerS == nil && w.RTTUs == nil && w.LossPPM == nil:
			bad("when", "changes nothing; write rate, rtt or loss")
		case w.RateBitPerS != nil && (c.Path.Policer || *w.RateBitPerS < minRate):
			bad("when.rate", "of a policer, or less than 8kbit")
		}
	}
}
