package popday

import (
	"math"
	"slices"
	"sort"

	"github.com/congctl/congctl/internal/core/stat"
)

// Intervals of everything that compares policies: clusters of responses are drawn
// again, with replacement, and with a cluster all policies' responses in it. What a
// network is worth is in all of them and cancels (Field and Welsh, JRSS B 69, 2007).
//
// A cluster is a network's time of one block. It is drawn within its class, over all
// seeds: the mix of classes is the day's design and no sample of anything. Drawing
// whole networks, without regard to class, says what another PoP with other networks
// of this kind might have seen; that is wide, and is told beside it. From nineSeeds on
// whole seeds are drawn instead: they are independent, and nothing need be assumed.

// Interval is an estimate with its 95 % interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

const (
	// draws: the share of them beyond an end is then known to 0.5 % (one standard deviation).
	draws = 1000
	// nineSeeds: as of pairs of blocks in core/effect, fewer know too little of their spread.
	nineSeeds = 9
	// tail of an interval on each side.
	tail = 0.025
	// knownShare of the draws must have a value.
	knownShare = 0.95
)

// series is a set of values, ascending, each with its cluster.
type series struct {
	values   []float64
	clusters []int32
	at       []float64   // quantiles that are wanted
	found    [][]float64 // [quantile][draw]; draw 0 is what was seen
}

func newSeries(values []float64, clusters []int32, at ...float64) *series {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] != values[b]:
			if values[a] < values[b] {
				return -1
			}
			return 1
		case clusters[a] != clusters[b]:
			return int(clusters[a] - clusters[b])
		}
		return a - b
	})
	s := &series{at: at, found: make([][]float64, len(at))}
	for _, i := range order {
		s.values, s.clusters = append(s.values, values[i]), append(s.clusters, clusters[i])
	}
	return s
}

// note adds the quantiles of one draw. A value that was drawn twice is two values.
func (s *series) note(times []int32, sums []int32) {
	n := int32(0)
	for i, c := range s.clusters {
		n += times[c]
		sums[i] = n
	}
	for i, q := range s.at {
		s.found[i] = append(s.found[i], s.quantile(sums[:len(s.values)], int(n), q))
	}
}

// quantile of type 7 over the values, each as often as the running sums say.
func (s *series) quantile(sums []int32, n int, q float64) float64 {
	if n == 0 {
		return math.NaN()
	}
	h := q * float64(n-1)
	low := s.nth(sums, int(h))
	return low + (h-math.Floor(h))*(s.nth(sums, min(int(h)+1, n-1))-low)
}

func (s *series) nth(sums []int32, k int) float64 {
	return s.values[sort.Search(len(sums), func(i int) bool { return int(sums[i]) > k })]
}

// resampling draws clusters within strata.
type resampling struct {
	strata [][]int32
	series []*series
	count  int // clusters
}

func (b *resampling) add(s *series) *series {
	b.series = append(b.series, s)
	return s
}

// run fills all series.
func (b *resampling) run(seed uint64) {
	most := 0
	for _, s := range b.series {
		most = max(most, len(s.values))
	}
	sums, times := make([]int32, most), make([]int32, b.count)
	for i := range times {
		times[i] = 1
	}
	r := stat.NewRand(seed, 7)
	for draw := range draws + 1 {
		if draw > 0 {
			b.draw(r, times)
		}
		for _, s := range b.series {
			s.note(times, sums)
		}
	}
}

func (b *resampling) draw(r *stat.Rand, times []int32) {
	clear(times)
	for _, list := range b.strata {
		for range list {
			times[list[r.Index(len(list))]]++
		}
	}
}

// interval of any function of the draws; nil where too few of them have a value.
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
