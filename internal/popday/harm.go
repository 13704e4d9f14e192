package popday

import (
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// LongHarm is a network that a loop treated for long and made slower: the median goodput of
// its large responses in treated blocks is more than 5 % below that of the same responses on the
// default, with an interval that excludes 1.
type LongHarm struct {
	Policy   string    `json:"policy"`
	Seed     uint64    `json:"seed"`
	Network  int       `json:"network"`
	Class    string    `json:"class"`
	TreatedS int64     `json:"treated_s"` // in blocks drawn for treatment
	Ratio    *Interval `json:"ratio"`
}

// longWindows is two hours of windows of five minutes: a trial treats for an hour and a half at
// most, and may end with harm shown. It scales with the window, as the policy's own durations do.
const longWindows = 24

// LongS returns them in seconds.
func LongS(windowS int64) int64 { return longWindows * windowS }

// longHarms of each loop.
func (c *comparer) longHarms(in *Input) (out []LongHarm) {
	o := c.place(c.base)
	for _, name := range loopsIn(c.table) {
		p := c.place(name)
		for seed := range c.seeds {
			if o < 0 || !c.both(seed, p, o) || c.runs[seed][p].Loop == nil {
				continue
			}
			for n := range c.classOf {
				if h := c.longHarm(in, p, o, seed, n); h != nil {
					out = append(out, *h)
				}
			}
		}
	}
	return out
}

func (c *comparer) longHarm(in *Input, p, o, seed, n int) *LongHarm {
	r, e := c.runs[seed][p], in.Experiment
	prefix := r.Facts.Networks[n].Prefix
	treated := func(window int64) bool {
		at, ok := r.Loop.Pairs.Drawn(window, prefix)
		return ok && at.Row == record.ArmTreatment
	}
	blocks := map[int64]bool{}
	for w := r.Facts.BeganUnixS / e.WindowS * e.WindowS; w < r.Facts.BeganUnixS+int64(in.Day.EndUs/1e6); w += e.WindowS {
		if treated(w) {
			blocks[w/e.BlockS] = true
		}
	}
	h := &LongHarm{Policy: c.policies[p], Seed: c.seeds[seed], Network: n, Class: c.classOf[n], TreatedS: int64(len(blocks)) * e.BlockS}
	if h.TreatedS <= LongS(e.WindowS) {
		return nil
	}
	var samples []effect.Sample
	for i, u := range c.largeOf(seed, n) {
		if began := r.Facts.BeganUnixS + int64(u.at[p].StartUs/1e6); treated(began/e.WindowS*e.WindowS) && !record.InWashout(began, e.BlockS, e.WashoutS) {
			samples = append(samples, both(0, int64(i), u.at[p].goodput(), u.at[o].goodput())...)
		}
	}
	if len(samples) < 2*fewestResponses {
		return nil
	}
	h.Ratio = boundsOf(effect.Pool(samples, uint64(n)).Ratios[2]).Interval
	if h.Ratio == nil || h.Ratio.Value >= 1-margin || h.Ratio.High >= 1 {
		return nil
	}
	return h
}
