package popday

import "github.com/congctl/congctl/internal/loop/effect"

// NetworkRow is one network of one seed under one policy, compared with the default.
type NetworkRow struct {
	Policy  string  `json:"policy"`
	Seed    uint64  `json:"seed"`
	Network int     `json:"network"`
	Class   string  `json:"class"`
	Large   int     `json:"large"` // responses
	Median  float64 `json:"median_bytes_per_s"`
	// Ratio of the median goodput of large responses to the default's.
	Ratio   *Interval `json:"ratio,omitempty"`
	Verdict string    `json:"verdict"` // helped, harmed, or no visible effect
}

// margin: a client does not see five percent faster or slower.
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
	var samples []effect.Sample
	for i, u := range c.largeOf(seed, n) {
		samples = append(samples, both(0, int64(i), u.at[p].goodput(), u.at[o].goodput())...)
	}
	row := NetworkRow{Policy: c.policies[p], Seed: c.seeds[seed], Network: n, Class: c.classOf[n], Large: len(samples) / 2, Verdict: wordAlike}
	if row.Large < fewestResponses {
		return row
	}
	median := effect.Pool(samples, uint64(n)).Ratios[2]
	row.Median = median.Treatment
	if row.Ratio = boundsOf(median).Interval; row.Ratio == nil {
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

// fewestResponses of a network that make a median with an interval: with fewer, even the
// widest interval does not reach 95 %.
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
