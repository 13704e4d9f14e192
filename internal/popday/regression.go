package popday

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// What selection alone "improves": in the all-CUBIC runs, which treat nothing, the networks
// in the slowest fifth of a block are followed into the blocks after it. What is slow now
// is on average less slow later (Galton, 1886: regression to the mean).

// Regression is that, beside what the loop's selected networks did before and after.
type Regression struct {
	Blocks   int `json:"blocks"` // of all seeds, in which a slowest fifth was drawn
	Networks int `json:"networks"`
	// Geometric mean of goodput in the blocks after, divided by that in the block itself.
	Nothing *Interval `json:"improvement_with_nothing_done,omitempty"`
	// For the networks that the loop chose: treated blocks divided by the hours before, control
	// blocks by the hours before, and the quotient. Only the last is evidence.
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
	var changes [][]float64 // of ln goodput, by block
	for seed := range t.seeds {
		if o < 0 || t.runs[seed][o] == nil {
			continue
		}
		level := levels(t, seed, o, in.Experiment.BlockS)
		for block := range level {
			if moved := follow(level, block); len(moved) > 0 {
				out.Networks += len(moved)
				changes = append(changes, moved)
			}
		}
	}
	out.Blocks, out.Nothing = len(changes), meanInterval(changes)
	return out
}

// levels returns the mean ln goodput of large responses of each network in each block; NaN for none.
func levels(t *table, seed, p int, blockS int64) (level [][]float64) {
	var sums [][]stat.Mean
	for i := range t.units {
		u := &t.units[i]
		if u.seed != seed || !u.large() {
			continue
		}
		block := int(int64(u.startUs) / 1e6 / max(blockS, 1))
		for len(sums) <= block {
			sums = append(sums, make([]stat.Mean, len(t.classOf)))
		}
		sums[block][u.network].Add(math.Log(u.at[p].goodput()), 1)
	}
	for _, of := range sums {
		row := make([]float64, len(of))
		for n := range of {
			row[n] = of[n].Value()
		}
		level = append(level, row)
	}
	return level
}

// follow returns the change of ln goodput of each network in the slowest fifth of a block.
func follow(level [][]float64, block int) (moved []float64) {
	known := slices.DeleteFunc(slices.Clone(level[block]), math.IsNaN)
	slices.Sort(known)
	boundary := stat.Sorted(known, slowestShare) // NaN where none is known: nothing is below
	for n, now := range level[block] {
		if !(now <= boundary) {
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

// meanInterval returns the geometric mean of ratios given as logarithms; the bootstrap draws
// whole blocks.
func meanInterval(logs [][]float64) *Interval {
	if len(logs) < nineSeeds {
		return nil
	}
	r := stat.NewRand(3, 7)
	return interval(func(draw int) float64 {
		var all stat.Mean
		for i := range logs {
			if draw > 0 {
				i = r.Index(len(logs))
			}
			for _, v := range logs[i] {
				all.Add(v, 1)
			}
		}
		return math.Exp(all.Value())
	})
}

// before adds what the loop's networks did before and after.
func (r *Regression) before(b *blocks) {
	c := effect.BeforeAfter(b.courses)
	r.Chosen, r.Naive, r.Untreated, r.Effect = c.Prefixes, c.Naive, c.Untreated, c.Effect
}
