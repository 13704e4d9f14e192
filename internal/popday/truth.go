package popday

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// mix gives each response its goodput under a switch at LargeBytes, where no run has it.
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

// truths of the responses in complete pairs, at the 10th and the 50th percentile. Pairs
// are drawn again as wholes, as for the estimate beside it.
func (b *blocks) truths(keep func(record.Prefix) bool, of func(*paired) float64, e Estimate) []Truth {
	complete := map[group]int{}
	for i := range b.truth {
		complete[b.truth[i].group] |= 1 << b.truth[i].arm
	}
	var treated, base []float64
	var clusters []int32
	number := map[group]int32{}
	var names []group
	for i := range b.truth {
		x := &b.truth[i]
		if complete[x.group] != 1<<record.ArmTreatment|1<<record.ArmControl || !keep(x.group.prefix) {
			continue
		}
		if _, ok := number[x.group]; !ok {
			number[x.group] = int32(len(names))
			names = append(names, x.group)
		}
		treated, base, clusters = append(treated, of(x)), append(base, x.base), append(clusters, number[x.group])
	}
	if len(treated) == 0 {
		return nil
	}
	boot := &resampling{strata: [][]int32{seq(len(names))}, count: len(names)}
	at := []float64{0.10, 0.50}
	t, c := boot.add(newSeries(treated, clusters, at...)), boot.add(newSeries(base, clusters, at...))
	boot.run(4)
	var out []Truth
	for i, bounds := range []Bounds{e.P10, e.P50} {
		truth := Truth{Quantile: at[i], Ratio: ratio(t, c, i)}
		if iv := bounds.Interval; iv != nil && truth.Ratio != nil {
			covered := iv.Low <= truth.Ratio.Value && truth.Ratio.Value <= iv.High
			truth.Covered = &covered
		}
		out = append(out, truth)
	}
	return out
}

func seq(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// classesWithPairs that the blocks have, in the day's order.
func (b *blocks) classesWithPairs(mix []Class) (names []string) {
	has := map[string]bool{}
	for _, list := range b.samples {
		for _, s := range list {
			has[b.classOf[b.network[s.Prefix]]] = true
		}
	}
	for _, c := range mix {
		if has[c.Name] {
			names = append(names, c.Name)
		}
	}
	return names
}

// effects of each class with a pair, of those that the treatment is made for together,
// and of all.
func (b *blocks) effects(mix []Class, chosen map[int]int) (out []Effect) {
	names := b.classesWithPairs(mix)
	var helped []string
	for _, name := range names {
		if e := b.effectOf(name, []string{name}, chosen); e.Goodput.Pairs+e.Rate.Pairs > 0 {
			out = append(out, e)
		}
		i := slices.IndexFunc(mix, func(c Class) bool { return c.Name == name })
		if mix[i].Kind == kindHelped {
			helped = append(helped, name)
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
