package popday

import (
	"slices"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/stat"
)

const (
	// mostOfGain of the final one counts as there.
	mostOfGain = 0.80
	// gainBlocks make a 10th percentile steady enough: 50 min, with blocks of ten.
	gainBlocks = 5
	// defaultWindowS is congctl's window: hours of the policy are told at it.
	defaultWindowS = 300
)

// gainAfter returns when a policy had most of its final gain, in seconds of the day: the first
// block from which on gainBlocks blocks, and as many after them, have the 10th percentile of large responses
// over the default's at 80 % of the late one or more. nil: never, or there is no certain gain.
func (c *comparer) gainAfter(p int, final *Interval) *int64 {
	o := c.against(p)
	if o < 0 || final == nil || final.Low <= 1 {
		return nil
	}
	var mine, base [][]float64 // goodput, by block
	for i := range c.units {
		u := &c.units[i]
		if !u.large() || !c.both(u.seed, p, o) {
			continue
		}
		for at := int(u.startUs/1e6) / int(max(c.blockS, 1)); len(mine) <= at; {
			mine, base = append(mine, nil), append(base, nil)
		}
		at := int(u.startUs/1e6) / int(max(c.blockS, 1))
		mine[at], base[at] = append(mine[at], u.at[p].goodput()), append(base[at], u.at[o].goodput())
	}
	there := func(from int) bool {
		return from+gainBlocks <= len(mine) && p10Of(mine[from:from+gainBlocks])/p10Of(base[from:from+gainBlocks])-1 >= mostOfGain*(final.Value-1)
	}
	for from := range mine {
		if there(from) && there(from+gainBlocks) {
			s := int64(from) * c.blockS
			return &s
		}
	}
	return nil
}

func p10Of(blocks [][]float64) float64 {
	all := slices.Concat(blocks...)
	slices.Sort(all)
	return stat.Sorted(all, percentiles[p10])
}

// vain returns the share of the bytes of large responses that were asked for by networks on a trial
// that ended without benefit; a trial that is still open at the day's end is none.
func (c *comparer) vain(p int, stories []Story) *float64 {
	var some, all float64
	for i := range stories {
		s := &stories[i]
		if s.Policy != c.policies[p] {
			continue
		}
		of := map[int][]*Span{}
		for k := range s.Spans {
			if sp := &s.Spans[k]; sp.State == string(policy.StateTrial) && slices.Contains(leaving, sp.End) {
				of[sp.Network] = append(of[sp.Network], sp)
			}
		}
		for k := range c.units {
			u := &c.units[k]
			if c.seeds[u.seed] != s.Seed || !u.large() {
				continue
			}
			all += float64(u.asked)
			at := int64(u.at[p].StartUs / 1e6)
			if slices.ContainsFunc(of[u.network], func(sp *Span) bool { return sp.FromS <= at && at < sp.ToS }) {
				some += float64(u.asked)
			}
		}
	}
	if all == 0 {
		return nil
	}
	v := some / all
	return &v
}
