package effect

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// spread between prefixes, of ln rate, as in the simulated city.
const spread = 0.4

// samplesOf some prefixes, each with as many pairs.
func samplesOf(r *stat.Rand, c path, prefixes, pairs int) (list []Sample) {
	for p := range prefixes {
		one := c
		one.level += spread * gauss(r)
		list = append(list, one.samples(r, record.Prefix(p+1), pairs*c.group/2)...)
	}
	return list
}

// covered is the share of intervals that hold the truth, for each quantile. A quantile
// without an interval counts for nothing.
func covered(reps, prefixes, pairs int, c path) (hold [3]rate) {
	for i := range reps {
		r := stat.NewRand(uint64(i), uint64(prefixes*1000+pairs))
		for q, ratio := range Pool(samplesOf(r, c, prefixes, pairs), uint64(i)).Ratios {
			if ratio.High > 0 {
				hold[q].count(ratio.Low <= c.effect && c.effect <= ratio.High)
			}
		}
	}
	return hold
}

// TestIntervalsHold: 92 to 98 % of the intervals hold the true ratio, from nine pairs (the
// bootstrap), and from three (t) no fewer than 90 %.
func TestIntervalsHold(t *testing.T) {
	for _, k := range []struct {
		prefixes, pairs, group, few int
		least                       float64
	}{
		{3, 1, 2, 100, 0.90}, {1, 6, 2, 100, 0.90}, {8, 1, 8, 100, 0.90},
		{1, 9, 2, 60, 0.92}, {3, 3, 2, 60, 0.92}, {9, 1, 2, 0, 0.92}, {9, 1, 8, 60, 0.92}, {3, 3, 8, 0, 0.92},
		{5, 5, 2, 0, 0.92}, {20, 5, 2, 0, 0.92}, {10, 4, 8, 0, 0.92},
	} {
		t.Run(fmt.Sprintf("%d prefixes with %d pairs in groups of %d", k.prefixes, k.pairs, k.group), func(t *testing.T) {
			const most = 0.98
			for q, got := range covered(replicates(t, k.few), k.prefixes, k.pairs, city.with(1.6, 3, k.group)) {
				t.Logf("p%.0f holds in %v", 100*Quantiles[q], got)
				if share := got.share(); share < k.least-slack(k.least, got.of) || share > most+slack(most, got.of) {
					t.Errorf("p%.0f: want %v to %v", 100*Quantiles[q], k.least, most)
				}
			}
		})
	}
}

// byBlocks is the tempting bootstrap: (prefix, block) drawn as if independent.
func byBlocks(samples []Sample, seed uint64) (low, high float64) {
	type one struct {
		key
		arm record.Arm
	}
	cells := map[one][]Sample{}
	var order []one
	for _, s := range samples {
		k := one{key{s.Prefix, s.Group}, s.Arm}
		if _, ok := cells[k]; !ok {
			order = append(order, k)
		}
		cells[k] = append(cells[k], s)
	}
	r := stat.NewRand(seed, 0)
	var ratios []float64
	for range 400 {
		var t, c []float64
		for range order {
			for _, s := range cells[order[r.Index(len(order))]] {
				if s.Arm == record.ArmTreatment {
					t = append(t, s.Value)
				} else {
					c = append(c, s.Value)
				}
			}
		}
		ratios = append(ratios, stat.Quantile(t, Quantiles[headline])/stat.Quantile(c, Quantiles[headline]))
	}
	slices.Sort(ratios)
	return stat.Sorted(ratios, 0.025), stat.Sorted(ratios, 0.975)
}

// TestDrawingBlocksIsWrong: (prefix, block) drawn as if independent puts the spread between
// prefixes into the interval: it nearly always holds, at twice the width of what pairs give.
func TestDrawingBlocksIsWrong(t *testing.T) {
	reps := replicates(t, 60)
	var blocks, pairs rate
	var wider float64
	c := city.with(1.6, 6, 2)
	for i := range reps {
		list := samplesOf(stat.NewRand(uint64(i), 9), c, 8, 3)
		low, high := byBlocks(list, uint64(i))
		ratio := Pool(list, uint64(i)).Ratios[headline]
		blocks.count(low <= c.effect && c.effect <= high)
		pairs.count(ratio.Low <= c.effect && c.effect <= ratio.High)
		wider += math.Log(high/low) / math.Log(ratio.High/ratio.Low) / float64(reps)
	}
	t.Logf("8 prefixes x 3 pairs, p10: blocks hold in %v, pairs in %v, blocks are %.2f x as wide", blocks, pairs, wider)
	if blocks.share() < 0.985-slack(0.985, reps) || wider < 1.3 {
		t.Errorf("blocks hold in %v, %v x as wide: the comment is wrong", blocks, wider)
	}
}

// TestNaivePoolingIsConfounded: nothing happens, but the slow prefixes are promoted and so
// treated 7 blocks of 8, the faster ones on trial 1 of 2. Pooled without weights the
// treatment takes 18 % away; by 1/P(arm) nothing.
func TestNaivePoolingIsConfounded(t *testing.T) {
	r := stat.NewRand(82, 82)
	var weighted []Sample
	hours := max(40, min(400, replicates(t, 40)/5))
	for p := range 40 {
		c := city.with(1, 6, 8)
		if p >= 20 {
			c = city.with(1, 6, 2)
			c.level += 0.46 // 1.6 x as fast
		}
		weighted = append(weighted, c.samples(r, record.Prefix(p+1), hours)...)
	}
	naive := slices.Clone(weighted)
	for i := range naive {
		naive[i].Weight = 1
	}
	got, wrong := Pool(weighted, 1).Ratios[headline], Pool(naive, 1).Ratios[headline]
	t.Logf("p10: naive %.3f (%.3f to %.3f), weighted %.3f (%.3f to %.3f)", wrong.Ratio, wrong.Low, wrong.High, got.Ratio, got.Low, got.High)
	if math.Abs(wrong.Ratio-0.82) > 0.04 || wrong.High >= 1 {
		t.Errorf("naive %+v, want 0.82", wrong)
	}
	if math.Abs(got.Ratio-1) > 0.05 || got.Low > 1 || got.High < 1 {
		t.Errorf("weighted %+v, want 1", got)
	}
}
