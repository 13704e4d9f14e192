package simulate

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/simulate/city"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// truth is what the experiment says of a walk, beside what is so. Each connection has a rate if all
// of the city is treated, and one if nothing is. The truth of a pair is their ratio over the connections
// that the pair counts, in both of its arms; the truth of a fleet is that of its pairs, weighed as
// the estimate weighs them.
type truth struct {
	o       CityOptions
	force   *force
	builder *comparison.Builder
	cells   map[cell]*potential
	now     []*potential // by place, of the present window; nil does not count
}

// cell is a block of a network or of all, as its state groups blocks.
type cell struct {
	prefix   record.Prefix
	groupLen int
	block    int64
}

// potential is what the connections of a block would have, ln of rate.
type potential struct{ on, off []float32 }

func (p *potential) meanGain() float64 {
	sum := 0.0
	for i, v := range p.on {
		sum += float64(v) - float64(p.off[i])
	}
	return sum / float64(len(p.on))
}

func newTruth(o CityOptions, c *city.City, f *force) *truth {
	r := o.Rules.Trial
	return &truth{o: o, force: f, cells: map[cell]*potential{}, now: make([]*potential, len(c.Places)),
		builder: comparison.New(comparison.Config{WindowSeconds: o.Rules.WindowSeconds, BlockSeconds: r.BlockSeconds, WashoutSeconds: r.WashoutSeconds,
			GroupTrial: r.GroupTrial, GroupPromoted: r.GroupPromoted, From: cityStart, To: cityStart + int64(o.Hours)*3600, Drawn: o.Rules.Drawn(), ArmOf: f.draws.Arm})}
}

func (t *truth) begin() { clear(t.now) }

// serve notes whether a place counts in the present window.
func (t *truth) serve(place int, s city.Served) {
	if s.Arm != record.ArmTreatment && s.Arm != record.ArmControl {
		return
	}
	block, _, _ := plan.Block(t.force.start, t.o.Rules.Trial.BlockSeconds)
	by := t.force.of(place)
	k := cell{by.Prefix, t.o.Rules.Trial.GroupLen(by), block}
	if t.cells[k] == nil {
		t.cells[k] = &potential{}
	}
	t.now[place] = t.cells[k]
}

func (t *truth) seen(place int, c city.Conn) {
	if p := t.now[place]; p != nil {
		p.on, p.off = append(p.on, float32(c.On)), append(p.off, float32(c.Off))
	}
}

func (t *truth) rows(rows []record.Window) {
	for i := range rows {
		t.builder.Window(&rows[i])
	}
}

// Estimates are what `congctl effect` would say of the city, and the truth.
type Estimates struct {
	Pairs   int       `json:"pairs"`
	Overall *Estimate `json:"overall,omitempty"`
	P10     *Estimate `json:"p10,omitempty"`
	// Networks with bounds of their own at the end; of them, those whose bounds hold their truth.
	Bounded int `json:"bounded"`
	Covered int `json:"covered"`
}

// Estimate is a ratio of rates; its interval of 95 % is null below the fewest pairs.
type Estimate struct {
	Ratio float64  `json:"ratio"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	Truth float64  `json:"truth"`
}

func (t *truth) estimates() (e Estimates) {
	pairs := t.builder.Pairs()
	if e.Pairs = len(pairs); e.Pairs == 0 {
		return e
	}
	r := t.builder.Report(comparison.Grouping{}, t.o.Seed)
	var overall stat.Mean
	var on, off rates
	own, gains := map[record.Prefix][]effect.Pair{}, map[record.Prefix]*stat.Mean{}
	for _, p := range pairs {
		gain := t.pair(p, &on, &off)
		overall.Add(gain, float64(p.Treated().N+p.C.N))
		own[p.Prefix] = append(own[p.Prefix], p)
		if gains[p.Prefix] == nil {
			gains[p.Prefix] = &stat.Mean{}
		}
		gains[p.Prefix].Add(gain, 1)
	}
	e.Overall = &Estimate{Ratio: math.Exp(r.Overall.LogRatio), Truth: math.Exp(overall.Value())}
	if r.Overall.Known {
		e.Overall.Low, e.Overall.High = known(math.Exp(r.Overall.Low)), known(math.Exp(r.Overall.High))
	}
	if q := r.Estimates[0].Ratios[1]; !math.IsNaN(q.Ratio) && q.Ratio > 0 {
		e.P10 = &Estimate{Ratio: q.Ratio, Truth: math.Exp(on.quantile(0.1) - off.quantile(0.1))}
		if r.Estimates[0].Method != 0 {
			e.P10.Low, e.P10.High = known(q.Low), known(q.High)
		}
	}
	noise := effect.EstimateNoise(pairs)
	for prefix, list := range own {
		v := effect.Judge(list, noise)
		if g := gains[prefix].Value(); !math.IsInf(v.Low, 0) && !math.IsInf(v.High, 0) {
			e.Bounded++
			e.Covered += one(v.Low <= g && g <= v.High)
		}
	}
	return e
}

// pair adds a pair's connections to what its blocks would have had, and returns the mean of its
// blocks' gains.
func (t *truth) pair(p effect.Pair, on, off *rates) float64 {
	block := t.o.Rules.Trial.BlockSeconds
	var gain stat.Mean
	n := p.Group % (64 * block) // as comparison.Builder numbers groups: 64 times their start, and their blocks
	for b := p.End/block - n; b < p.End/block; b++ {
		c := t.cells[cell{p.Prefix, int(n), b}]
		if c == nil || len(c.on) == 0 {
			continue
		}
		gain.Add(c.meanGain(), 1)
		for i := range c.on {
			on.add(float64(c.on[i]))
			off.add(float64(c.off[i]))
		}
	}
	return gain.Value()
}

func (e Estimates) rows(of string) [][]string {
	line := func(name string, v *Estimate) []string {
		if v == nil {
			return []string{name + of, "-", "-", "-"}
		}
		between := "-"
		if v.Low != nil {
			between = fmt.Sprintf("%.3f to %.3f", *v.Low, *v.High)
		}
		return []string{name + of, fmt.Sprintf("%.3f", v.Ratio), between, fmt.Sprintf("%.3f", v.Truth)}
	}
	return [][]string{
		line("overall", e.Overall), line("p10", e.P10),
		{"networks whose bounds hold their truth" + of, fmt.Sprintf("%d of %d", e.Covered, e.Bounded), "-", "-"},
	}
}
