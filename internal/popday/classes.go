package popday

import (
	"cmp"
	"math"
	"slices"
)

// ClassRow is one class of networks under one policy, over its valid seeds.
type ClassRow struct {
	Policy string `json:"policy"`
	Class  string `json:"class"`
	// Ratio is the geometric mean of the goodput of large responses over the default's, response by
	// response.
	Ratio        *Interval `json:"ratio,omitempty"`
	SentBytes    uint64    `json:"sent_bytes"`
	RetransBytes uint64    `json:"retrans_bytes"`
	// RetransRatio is to the default's over the same responses.
	RetransRatio *float64 `json:"retrans_ratio,omitempty"`
	// Extra is what is retransmitted beyond the default, of what everything treated retransmits
	// beyond it.
	Extra *float64 `json:"extra_of_all_treated,omitempty"`
	// Of the policy with a pacing cap: its goodput late in the day over that of the same policy
	// without, of the class and of its worst network.
	Kept      *Interval `json:"of_uncapped,omitempty"`
	KeptWorst *float64  `json:"of_uncapped_worst_network,omitempty"`
}

// classRows of all policies but the default; mix has the classes.
func (c *comparer) classRows(mix []Class) (out []ClassRow) {
	o := c.place(c.base)
	if o < 0 {
		return nil
	}
	for p, name := range c.policies {
		for _, m := range mix {
			if p == o || m.Kind == kindNeighbour || len(c.seedsOf(p)) == 0 {
				continue
			}
			in := func(u *unit) bool { return c.classOf[u.network] == m.Name }
			row := ClassRow{Policy: name, Class: m.Name, Ratio: c.pace(c.units, p, o, 0, in)}
			row.SentBytes, row.RetransBytes, row.RetransRatio, row.Extra = c.resent(p, in)
			if k := c.place(uncapped); name == capped && k >= 0 {
				row.Kept, row.KeptWorst = c.pace(c.units, p, k, c.late, in), c.worst(p, k, in)
			}
			out = append(out, row)
		}
	}
	return out
}

// resent adds up what a policy sent, of some responses that the default has as well.
func (c *comparer) resent(p int, in func(*unit) bool) (sent, again uint64, ratio, extra *float64) {
	o, f := c.place(c.base), c.place(c.full)
	var mine, base, all float64
	three := true
	for i := range c.units {
		u := &c.units[i]
		if !in(u) || u.at[p] == nil {
			continue
		}
		sent, again = sent+u.at[p].SentBytes, again+u.at[p].RetransBytes
		if o < 0 || u.at[o] == nil {
			continue
		}
		mine, base = mine+float64(u.at[p].RetransBytes), base+float64(u.at[o].RetransBytes)
		if f < 0 || u.at[f] == nil {
			three = false
			continue
		}
		all += float64(u.at[f].RetransBytes)
	}
	if base > 0 {
		v := mine / base
		ratio = &v
	}
	if three && all > base {
		v := (mine - base) / (all - base)
		extra = &v
	}
	return sent, again, ratio, extra
}

// pace is the geometric mean of a policy's goodput over another's, of the same large responses from
// a time on; nil with too few blocks. Its interval draws blocks of networks.
func (c *comparer) pace(units []unit, p, o int, from uint64, in func(*unit) bool) *Interval {
	type block struct {
		seed, network int
		number        uint64
	}
	logs := map[block][]float64{}
	for i := range units {
		u := &units[i]
		if !u.large() || u.startUs < from || !in(u) || u.at[p] == nil || u.at[o] == nil {
			continue
		}
		k := block{u.seed, u.network, u.startUs / 1e6 / uint64(max(c.blockS, 1))}
		logs[k] = append(logs[k], math.Log(u.at[p].goodput()/u.at[o].goodput()))
	}
	var keys []block
	for k := range logs {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.seed, b.seed), cmp.Compare(a.network, b.network), cmp.Compare(a.number, b.number))
	})
	var all [][]float64
	for _, k := range keys {
		all = append(all, logs[k])
	}
	return meanInterval(all)
}

// worst is the smallest pace, late in the day, of a network that has enough responses.
func (c *comparer) worst(p, o int, in func(*unit) bool) (least *float64) {
	for seed := range c.seeds {
		for n := range c.classOf {
			of := func(u *unit) bool { return in(u) && u.seed == seed && u.network == n }
			if i := c.pace(c.units, p, o, c.late, of); i != nil && (least == nil || i.Value < *least) {
				least = &i.Value
			}
		}
	}
	return least
}

// neighbours is what a policy left of the goodput of another server's clients on shared lines, and
// of what they lose beside everything treated, the share that they lose beside this policy; nil
// where there are none, or where it is not certain that they lose.
func (c *comparer) besides(p int) (kept *Interval, loss *float64) {
	o, f := c.place(c.base), c.place(c.full)
	if o < 0 || o == p {
		return nil, nil
	}
	every := func(*unit) bool { return true }
	kept = c.pace(c.beside, p, o, 0, every)
	if f < 0 || kept == nil || !c.sameSeeds(p, o, f) {
		return kept, nil
	}
	if all := c.pace(c.beside, f, o, 0, every); all != nil && all.High < 1 {
		v := (1 - kept.Value) / (1 - all.Value)
		loss = &v
	}
	return kept, loss
}
