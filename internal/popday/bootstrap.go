package popday

import (
	"cmp"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// Intervals of everything that compares whole policies come from a bootstrap over clusters of
// responses (those of pairs of blocks, and of one network, are loop/effect's): each draw takes clusters with replacement, and with a cluster all policies'
// responses in it. The network's own level is in all of them and cancels (Field and Welsh,
// JRSS B 69, 2007).
//
// A cluster is one network in one block. It is drawn within its class, over all seeds: the
// mix of classes is the day's design, not a sample. Drawing whole networks, whatever their
// class, estimates what another PoP with other networks of this kind might have seen; that
// interval is wide, and stands beside it. From nineSeeds on whole seeds are drawn instead:
// they are independent, and need no assumption.

// Interval is an estimate with its 95 % interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

const (
	// draws: the share of them beyond an end is then known to 0.5 % (one standard deviation).
	draws = 1000
	// nineSeeds: as for pairs of blocks in loop/effect, fewer do not show their spread.
	nineSeeds = 9
	// tail of an interval on each side.
	tail = 0.025
	// knownShare of the draws must have a value.
	knownShare = 0.95
)

// resampling knows how often each cluster is in each draw: so a series can be made when it is
// asked for, and all draw the same clusters.
type resampling struct {
	of    []int32    // each unit's cluster
	times [][]uint16 // [draw][cluster]; draw 0 is the data itself
}

// draw draws as many clusters from each stratum as there are.
func (b *resampling) draw(strata [][]int32, count int, seed uint64) {
	all := make([]uint16, count)
	for i := range all {
		all[i] = 1
	}
	b.times = [][]uint16{all}
	r := stat.NewRand(seed, 7)
	for range draws {
		times := make([]uint16, count)
		for _, list := range strata {
			for range list {
				times[list[r.Index(len(list))]]++
			}
		}
		b.times = append(b.times, times)
	}
}

// series is a set of values, ascending, with its quantiles in each draw.
type series struct {
	values []float64
	found  [][]float64 // [quantile][draw]
}

// series of values, each in a cluster. A value drawn twice counts twice.
func (b *resampling) series(values []float64, clusters []int32, at ...float64) *series {
	order := seq(len(values))
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(values[a], values[b]), cmp.Compare(clusters[a], clusters[b]), cmp.Compare(a, b))
	})
	s := &series{found: make([][]float64, len(at))}
	of := make([]int32, len(order)) // a value's cluster, in the order of values: the draws read it from end to end
	for k, i := range order {
		s.values = append(s.values, values[i])
		of[k] = clusters[i]
	}
	sums := make([]float64, len(order))
	for _, times := range b.times {
		n := 0
		for k, cluster := range of {
			n += int(times[cluster])
			sums[k] = float64(n)
		}
		for i, q := range at {
			s.found[i] = append(s.found[i], stat.Weighted(s.values, sums, float64(n), q))
		}
	}
	return s
}

// interval of any function of the draws; nil if too few of them have a value.
func interval(f func(draw int) float64) *Interval {
	seen := f(0)
	var values []float64
	for draw := 1; draw <= draws; draw++ {
		if v := f(draw); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	if math.IsNaN(seen) || math.IsInf(seen, 0) || float64(len(values)) < knownShare*draws {
		return nil
	}
	slices.Sort(values)
	return &Interval{seen, stat.Sorted(values, tail), stat.Sorted(values, 1-tail)}
}

// ratio of a quantile of one series to that of another.
func ratio(x, base *series, q int) *Interval {
	return interval(func(d int) float64 { return x.found[q][d] / base.found[q][d] })
}
