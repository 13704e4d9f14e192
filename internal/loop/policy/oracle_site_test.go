package policy

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// What one site weighs, a second time: by bisection, and without running sums.

func site(p record.Prefix) netip.Prefix {
	n, bits := p.Netip(), 48
	if n.Addr().Is4() {
		bits = 20
	}
	s, _ := n.Addr().Prefix(bits)
	return s
}

func (o *oracle) sizes(perf map[record.Prefix]float64) map[netip.Prefix]float64 {
	size := map[netip.Prefix]float64{}
	for p := range perf {
		size[site(p)]++
	}
	return size
}

func (o *oracle) mostShare(sites int) float64 {
	if sites < o.rules.MinRanked {
		return 1
	}
	return max(o.rules.SiteShare, 2/float64(sites))
}

// boundary gives no site more than its share of the weight.
func (o *oracle) boundary(perf map[record.Prefix]float64) float64 {
	size := o.sizes(perf)
	share := o.mostShare(len(size))
	low, high := 0.0, float64(len(perf)) // of all weights together, by bisection
	for range 200 {
		sum := 0.0
		for _, n := range size {
			sum += min(n, share*(low+high)/2)
		}
		if sum >= (low+high)/2 {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	weight := map[record.Prefix]float64{}
	var sum, squares float64
	for p := range perf {
		weight[p] = min(1, share*high/size[site(p)])
		sum, squares = sum+weight[p], squares+weight[p]*weight[p]
	}
	if sum > float64(len(perf))-1e-9 {
		return percentile(slices.Collect(maps.Values(perf)), o.rules.GroupShare)
	}
	// The mean of the performances in order, each as long as its weight, over one n-th of the length.
	n := sum * sum / squares
	from := o.rules.GroupShare * (n - 1) / n * sum
	at, mean, taken, first, last := 0.0, 0.0, 0.0, math.Inf(1), 0.0
	for _, p := range slices.SortedFunc(maps.Keys(perf), func(a, b record.Prefix) int { return cmp.Compare(perf[a], perf[b]) }) {
		if part := min(at+weight[p], from+sum/n) - max(at, from); part > 1e-9 {
			mean, taken = mean+perf[p]*part, taken+part
			first, last = min(first, perf[p]), max(last, perf[p])
		}
		at += weight[p]
	}
	return min(max(mean/taken, first), last)
}
