package popday

import "slices"

// NetworkRow is one network of one seed under one policy, held against the default.
type NetworkRow struct {
	Policy  string  `json:"policy"`
	Seed    uint64  `json:"seed"`
	Network int     `json:"network"`
	Class   string  `json:"class"`
	Large   int     `json:"large"` // responses
	Median  float64 `json:"median_bytes_per_s"`
	// Ratio of the median goodput of large responses to the default's.
	Ratio   *Interval `json:"ratio,omitempty"`
	Verdict string    `json:"verdict"` // helped, harmed, or nothing that shows
}

// margin: five percent faster or slower is nothing that a client sees.
const margin = 0.05

// Words of NetworkRow.Verdict.
const (
	wordHelped = "helped"
	wordHarmed = "harmed"
	wordAlike  = "alike"
)

// eachNetwork compares each network with itself, response by response.
func (c *comparer) eachNetwork() (rows []NetworkRow) {
	o := c.place(c.base)
	for p := range c.policies {
		if o < 0 || p == o {
			continue
		}
		for seed := range c.seeds {
			if !c.both(seed, p, o) {
				continue
			}
			for n := range c.classOf {
				rows = append(rows, c.network(p, o, seed, n))
			}
		}
	}
	return rows
}

func (c *comparer) network(p, o, seed, n int) NetworkRow {
	var mine, base []float64
	var clusters []int32
	for i := range c.units {
		if u := &c.units[i]; u.seed == seed && u.network == n && u.large() {
			mine, base = append(mine, u.at[p].goodput()), append(base, u.at[o].goodput())
			clusters = append(clusters, int32(len(clusters)))
		}
	}
	row := NetworkRow{Policy: c.policies[p], Seed: c.seeds[seed], Network: n, Class: c.classOf[n], Large: len(mine), Verdict: wordAlike}
	if len(mine) < fewestResponses {
		return row
	}
	boot := &resampling{strata: [][]int32{clusters}, count: len(clusters)}
	x, y := boot.add(newSeries(mine, clusters, 0.5)), boot.add(newSeries(slices.Clone(base), clusters, 0.5))
	boot.run(uint64(n))
	row.Median = x.found[0][0]
	if row.Ratio = ratio(x, y, 0); row.Ratio == nil {
		return row
	}
	switch r := row.Ratio; {
	case r.Value < 1-margin && r.High < 1:
		row.Verdict = wordHarmed
	case r.Value > 1+margin && r.Low > 1:
		row.Verdict = wordHelped
	}
	return row
}

// fewestResponses of a network that make a median with an interval: of fewer, the
// widest interval does not hold 95 %.
const fewestResponses = 6

// tally counts them into the policies' rows.
func tally(rows []NetworkRow, policies []PolicyRow) {
	for i := range policies {
		p := &policies[i]
		for _, r := range rows {
			if r.Policy != p.Policy {
				continue
			}
			p.Networks++
			switch r.Verdict {
			case wordHelped:
				p.Helped++
			case wordHarmed:
				p.Harmed++
			}
		}
	}
}
