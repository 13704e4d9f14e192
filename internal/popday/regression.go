package popday

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/core/effect"
	"github.com/congctl/congctl/internal/core/stat"
)

// What selection alone "improves": in the all-CUBIC runs, where nothing is ever done,
// the networks in the slowest fifth of a block are followed into the blocks after it.
// What is slow now is on average less slow later (Galton, 1886: regression to the mean).

// Regression is that, beside what the loop's selected networks did before and after.
type Regression struct {
	Blocks   int `json:"blocks"` // of all seeds, in which a slowest fifth was drawn
	Networks int `json:"networks"`
	// Geometric mean of goodput in the blocks after by that in the block itself.
	Nothing *Interval `json:"improvement_with_nothing_done,omitempty"`
	// Of the networks that the loop chose: treated blocks by the hours before, control
	// blocks by the hours before, and the quotient. No evidence, but for the last.
	Chosen    int     `json:"chosen_networks"`
	Naive     float64 `json:"naive_before_after,omitempty"`
	Untreated float64 `json:"untreated_before_after,omitempty"`
	Effect    float64 `json:"treated_by_control,omitempty"`
	Label     string  `json:"label"`
}

const (
	slowestShare = 0.20 // the policy's group
	followBlocks = 3    // after the one in which it was slow: 18 windows
)

// regress follows the slowest of each block.
func regress(in *Input, t *table) (out Regression) {
	out.Label = effect.NoEvidence
	o := t.place(t.base)
	var changes []float64
	var clusters []int32
	for seed := range t.seeds {
		if o < 0 || t.runs[seed][o] == nil {
			continue
		}
		level := levels(t, seed, o, in.Experiment.BlockS)
		for block := range level {
			moved := follow(level, block)
			if len(moved) == 0 {
				continue
			}
			out.Blocks++
			out.Networks += len(moved)
			for _, m := range moved {
				changes, clusters = append(changes, m), append(clusters, int32(out.Blocks-1))
			}
		}
	}
	out.Nothing = meanInterval(changes, clusters, out.Blocks)
	return out
}

// levels is the mean ln goodput of large responses of each network in each block; NaN for none.
func levels(t *table, seed, p int, blockS int64) (level [][]float64) {
	var sums []map[int]*stat.Mean
	for i := range t.units {
		u := &t.units[i]
		if u.seed != seed || !u.large() {
			continue
		}
		block := int(int64(u.startUs) / 1e6 / max(blockS, 1))
		for len(sums) <= block {
			sums = append(sums, map[int]*stat.Mean{})
		}
		if sums[block][u.network] == nil {
			sums[block][u.network] = &stat.Mean{}
		}
		sums[block][u.network].Add(math.Log(u.at[p].goodput()), 1)
	}
	for _, of := range sums {
		row := make([]float64, len(t.classOf))
		for n := range row {
			row[n] = math.NaN()
			if of[n] != nil {
				row[n] = of[n].Value()
			}
		}
		level = append(level, row)
	}
	return level
}

// follow gives the change of ln goodput of each network in the slowest fifth of a block.
func follow(level [][]float64, block int) (moved []float64) {
	known := slices.DeleteFunc(slices.Clone(level[block]), math.IsNaN)
	if len(known) == 0 || block+1 >= len(level) {
		return nil
	}
	slices.Sort(known)
	boundary := stat.Sorted(known, slowestShare)
	for n, now := range level[block] {
		if math.IsNaN(now) || now > boundary {
			continue
		}
		var after stat.Mean
		for _, later := range level[block+1 : min(block+1+followBlocks, len(level))] {
			if !math.IsNaN(later[n]) {
				after.Add(later[n], 1)
			}
		}
		if after.Weight() > 0 {
			moved = append(moved, after.Value()-now)
		}
	}
	return moved
}

// meanInterval is the geometric mean of ratios given as logarithms, clusters drawn again.
func meanInterval(logs []float64, clusters []int32, count int) *Interval {
	if count < nineSeeds {
		return nil
	}
	sum, n := make([]float64, count), make([]float64, count)
	for i, c := range clusters {
		sum[c] += logs[i]
		n[c]++
	}
	r := stat.NewRand(3, 7)
	return interval(func(draw int) float64 {
		var s, k float64
		for i := range count {
			c := i
			if draw > 0 {
				c = r.Index(count)
			}
			s, k = s+sum[c], k+n[c]
		}
		return math.Exp(s / k)
	})
}

// before sets what the loop's networks did before and after beside it.
func (r *Regression) before(b *blocks) {
	c := effect.BeforeAfter(b.courses)
	r.Chosen, r.Naive, r.Untreated, r.Effect = c.Prefixes, c.Naive, c.Untreated, c.Effect
}
