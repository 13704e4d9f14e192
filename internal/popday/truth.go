package popday

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// mix sets each response's goodput to that under a switch at LargeBytes, where no run has it.
func (b *blocks) mix() {
	byNetwork := map[[2]int][]*paired{}
	for i := range b.truth {
		x := &b.truth[i]
		if x.mix > 0 {
			continue
		}
		k := [2]int{x.group.seed, x.network}
		byNetwork[k] = append(byNetwork[k], x)
	}
	for _, list := range byNetwork {
		var fast []float64
		for _, x := range list {
			fast = append(fast, x.full)
		}
		slices.Sort(fast)
		slices.SortStableFunc(list, func(x, y *paired) int { return cmp.Compare(x.base, y.base) })
		for rank, x := range list {
			x.mix = x.asked / (LargeBytes/x.base + (x.asked-LargeBytes)/fast[rank])
		}
	}
}

// truths of the responses in complete pairs, at the 10th and the 50th percentile. Whole pairs
// are drawn again, as for the estimate beside it.
func (b *blocks) truths(keep func(record.Prefix) bool, of func(*paired) float64, e Estimate) []Truth {
	complete := map[group]int{}
	for i := range b.truth {
		complete[b.truth[i].group] |= 1 << b.truth[i].arm
	}
	var samples []effect.Sample
	for i := range b.truth {
		x := &b.truth[i]
		if complete[x.group] != 1<<record.ArmTreatment|1<<record.ArmControl || !keep(x.group.prefix) {
			continue
		}
		samples = append(samples, both(x.group.prefix, x.group.number(), of(x), x.base)...)
	}
	if samples == nil {
		return nil
	}
	p := effect.Pool(samples, 4)
	var out []Truth
	for i, bounds := range []Bounds{e.P10, e.P50} {
		r := p.Ratios[i+1]
		truth := Truth{Quantile: r.Quantile, Ratio: boundsOf(r).Interval}
		if iv := bounds.Interval; iv != nil && truth.Ratio != nil {
			covered := iv.Low <= truth.Ratio.Value && truth.Ratio.Value <= iv.High
			truth.Covered = &covered
		}
		out = append(out, truth)
	}
	return out
}

// both are the same response treated and not, as a pair or a part of one.
func both(p record.Prefix, pair int64, treated, control float64) []effect.Sample {
	return []effect.Sample{{Prefix: p, Group: pair, Arm: record.ArmTreatment, Value: treated, Weight: 1},
		{Prefix: p, Group: pair, Arm: record.ArmControl, Value: control, Weight: 1}}
}

func seq(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// effects returns those of each class with a pair, of the classes that the treatment is made
// for together, and of all.
func (b *blocks) effects(mix []Class, chosen map[int]int) (out []Effect) {
	var names, helped []string // with a sample
	for _, c := range mix {
		e := b.effectOf(c.Name, []string{c.Name}, chosen)
		pairs, partial := e.Goodput.Pairs+e.Rate.Pairs, e.Goodput.Partial+e.Rate.Partial
		if pairs > 0 {
			out = append(out, e)
		}
		if pairs+partial > 0 {
			names = append(names, c.Name)
			if c.Kind == kindHelped {
				helped = append(helped, c.Name)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	if len(helped) > 1 {
		out = append(out, b.effectOf(pooledLabel, helped, chosen))
	}
	if len(names) > len(helped) && len(names) > 1 {
		out = append(out, b.effectOf(allLabel, names, chosen))
	}
	return out
}

// Labels of several classes together.
const (
	pooledLabel = "helped, together"
	allLabel    = "all chosen"
)
