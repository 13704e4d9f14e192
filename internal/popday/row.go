package popday

import "math"

// row returns one policy's row.
func (c *comparer) row(p int) (row PolicyRow) {
	row.Large, row.All, row.Late = c.goodput("large", p), c.goodput("all", p), c.goodput("late", p)
	all, every := c.place(c.full), c.place(switched)
	row.GainShare, row.GainShareLate = c.gainShare("large", p, all), c.gainShare("late", p, all)
	row.SwitchShare, row.SwitchShareLate = c.gainShare("large", p, every), c.gainShare("late", p, every)
	row.GainAfterS = c.gainAfter(p, row.Late.P10.Ratio)
	row.Neighbours, row.NeighbourLoss = c.besides(p)
	row.Cost, row.Small = c.cost(p), c.small(p)
	return row
}

// against returns the index of the default, or -1 for the default itself.
func (c *comparer) against(p int) int {
	if o := c.place(c.base); o != p {
		return o
	}
	return -1
}

func (c *comparer) goodput(name string, p int) Goodput {
	s := c.get(name, p, p, false)
	g := Goodput{Responses: len(s.values)}
	for i, l := range []*Level{&g.P5, &g.P10, &g.P50} {
		l.BytesPerS = finite(s.found[i][0])
		o := c.against(p)
		if o < 0 {
			continue
		}
		l.Ratio = ratio(c.get(name, p, o, false), c.get(name, o, p, false), i)
		if name == "large" {
			l.Other = ratio(c.get(name, p, o, true), c.get(name, o, p, true), i)
		}
	}
	if o := c.against(p); o >= 0 {
		g.MeanLn = c.meanGain(name, p, o)
	}
	return g
}

// meanGain returns the mean gain of a set's responses over those of o, ln.
func (c *comparer) meanGain(name string, p, o int) *Interval {
	clusters := len(c.blocks.times[0])
	gains, n := make([]float64, clusters), make([]float64, clusters)
	for i := range c.units {
		if u := &c.units[i]; c.both(u.seed, p, o) && sets[name].keep(c, u) {
			gains[c.blocks.of[i]] += math.Log(u.at[p].goodput() / u.at[o].goodput())
			n[c.blocks.of[i]]++
		}
	}
	return interval(func(draw int) float64 {
		var sum, count float64
		for k, times := range c.blocks.times[draw] {
			sum, count = sum+float64(times)*gains[k], count+float64(times)*n[k]
		}
		return sum / count
	})
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// gainShare returns a policy's share of the gain of another, b, over nothing treated, at the 10th percentile, over the seeds that all three have. It is nil if that gain is not
// certain: a share of nothing means nothing.
func (c *comparer) gainShare(name string, p, b int) *Interval {
	o := c.against(p)
	if o < 0 || b < 0 || p == b || !c.sameSeeds(p, o, b) {
		return nil
	}
	mine, base, full := c.get(name, p, o, false), c.get(name, o, p, false), c.get(name, b, p, false)
	if gain := ratio(full, base, p10); gain == nil || gain.Low <= 1 {
		return nil
	}
	return interval(func(d int) float64 {
		return (mine.found[p10][d] - base.found[p10][d]) / (full.found[p10][d] - base.found[p10][d])
	})
}

func (c *comparer) sameSeeds(policies ...int) bool {
	for _, row := range c.runs {
		for _, p := range policies {
			if (row[p] == nil) != (row[policies[0]] == nil) {
				return false
			}
		}
	}
	return true
}

func (c *comparer) small(p int) Small {
	s := c.get("small", p, p, false)
	out := Small{Responses: len(s.values), P50Us: finite(s.found[0][0]), Other: c.onOther(p)}
	if o := c.against(p); o >= 0 {
		mine, base := c.get("small", p, o, false), c.get("small", o, p, false)
		out.Ratio = ratio(mine, base, 0)
		out.DifferenceUs = interval(func(d int) float64 { return mine.found[0][d] - base.found[0][d] })
	}
	return out
}

// onOther counts fresh small responses, matched or not, that did not end on the edge's
// default.
func (c *comparer) onOther(p int) (n int) {
	standard := c.base
	if c.policies[p] == c.full {
		standard = c.full
	}
	for _, row := range c.runs {
		if row[p] == nil {
			continue
		}
		for i := range row[p].Responses {
			if r := &row[p].Responses[i]; !c.neighbours[c.classOf[r.Network]] && r.Fresh && !r.large() && r.Cong != "" && r.Cong != standard {
				n++
			}
		}
	}
	return n
}

func (c *comparer) cost(p int) (out Cost) {
	var again, base uint64
	o := c.against(p)
	for i := range c.units {
		u := &c.units[i]
		r := u.at[p]
		if r == nil {
			continue
		}
		out.SentBytes, out.RetransBytes = out.SentBytes+r.SentBytes, out.RetransBytes+r.RetransBytes
		if o >= 0 && u.at[o] != nil {
			again, base = again+r.RetransBytes, base+u.at[o].RetransBytes
		}
	}
	out.RetransShare = share(out.RetransBytes, out.SentBytes)
	out.RetransRatio = share(again, base)
	first := c.get("first", p, p, false)
	out.FirstByteP50Us, out.FirstByteP95Us = finite(first.found[0][0]), finite(first.found[1][0])
	out.QueueUs = queue(c.table, p)
	if o >= 0 && c.policies[p] != c.full {
		_, _, _, out.Extra = c.resent(p, func(*unit) bool { return true })
	}
	return out
}

func share(part, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// queue returns the mean of srtt less min_rtt over the eligible connections of all windows.
func queue(t *table, p int) *float64 {
	var sum, n float64
	for _, row := range t.runs {
		if row[p] == nil || row[p].Loop == nil {
			continue
		}
		for i := range row[p].Loop.Rows {
			w := &row[p].Loop.Rows[i]
			sum += float64(w.Eligible) * max(w.SRTTUs-w.MinRTTUs, 0)
			n += float64(w.Eligible)
		}
	}
	if n == 0 {
		return nil
	}
	mean := sum / n
	return &mean
}
