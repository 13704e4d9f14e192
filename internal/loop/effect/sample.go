package effect

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Sample is one response or one connection in an estimate.
type Sample struct {
	Prefix record.Prefix
	Drawn  record.Prefix // whose draw decided, where that is not the prefix's own: record.All
	Group  int64
	Block  int64      // number within the arm of the pair, where there are several
	Arm    record.Arm // ArmTreatment or ArmControl, as assigned; for an A/A prefix what its block would have been
	Value  float64    // the rate, or whatever is compared; greater than zero
	Weight float64    // see Weight
}

// Weight returns 1/P(arm) for a group whose share of treatment blocks is share. Slow prefixes
// are promoted and then treated 7 blocks of 8, so among the treated they are many and among the
// controls few: without weights, a treatment that does nothing looks harmful. Source: Horvitz
// and Thompson, JASA 47 (1952).
func Weight(arm record.Arm, share float64) float64 {
	if arm == record.ArmTreatment {
		return 1 / share
	}
	return 1 / (1 - share)
}

// key names a pair. Networks that one draw decided about are one: an interval over pairs of each would take what all of them did in
// one control block for as many findings as there are networks.
type key struct {
	drawn record.Prefix
	group int64
}

func (s *Sample) key() key { return key{cmp.Or(s.Drawn, s.Prefix), s.Group} }

// sorted is one arm's samples by value, column by column: the bootstrap walks over them
// thousands of times.
type sorted struct {
	values, weights []float64
	pairs           []int32
	blocks          []int64
}

// arms are the samples of complete pairs.
type arms struct {
	pairs   int
	partial int // groups left out because one arm saw nothing
	t, c    sorted
}

// byPair numbers the pairs that have both arms, in order of prefix and group, and sorts the
// samples. It leaves out samples that can carry no ratio.
func byPair(samples []Sample) (a arms) {
	seen := map[key]uint8{}
	for _, s := range samples {
		if s.counts() {
			seen[s.key()] |= 1 << s.Arm
		}
	}
	var whole []key
	for k, both := range seen {
		if both == 1<<record.ArmTreatment|1<<record.ArmControl {
			whole = append(whole, k)
		}
	}
	slices.SortFunc(whole, func(x, y key) int {
		return cmp.Or(cmp.Compare(x.drawn, y.drawn), cmp.Compare(x.group, y.group))
	})
	number := map[key]int{}
	for i, k := range whole {
		number[k] = i
	}
	a.pairs, a.partial = len(whole), len(seen)-len(whole)
	kept := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
		_, ok := number[s.key()]
		return !ok || !s.counts()
	})
	slices.SortFunc(kept, bySize)
	for _, s := range kept {
		arm := &a.c
		if s.Arm == record.ArmTreatment {
			arm = &a.t
		}
		arm.values = append(arm.values, s.Value)
		arm.weights = append(arm.weights, s.Weight)
		arm.pairs = append(arm.pairs, int32(number[s.key()]))
		arm.blocks = append(arm.blocks, s.Block)
	}
	return a
}

func (s Sample) counts() bool {
	return s.Value > 0 && s.Weight > 0 && (s.Arm == record.ArmTreatment || s.Arm == record.ArmControl)
}

// bySize orders by value, with no ties whose order could change a sum.
func bySize(a, b Sample) int {
	return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Block, b.Block), cmp.Compare(a.Weight, b.Weight))
}

// Intervals of a ratio of quantiles.
//
// From nine pairs: a bootstrap over whole pairs, both arms of one prefix and group. The
// prefix's own level is in both arms and cancels. Drawing (prefix, block) instead would redraw
// the differences between prefixes, which are much larger than the effect: intervals that
// always hold and say nothing. The ends are quantiles of the draws, wider by what n pairs do
// not show of their own spread:
//
//	tail = Phi(sqrt(n / (n-1)) t(2.5 %, n-1)),  ends at tail and 1 - tail
//
// From three: t over the pairs' own ln ratios, of median-unbiased quantiles. A promoted pair
// has seven times as many treated samples as controls, and the type-7 p5 of 15 values is on
// average their p10: intervals around such differences hold the truth in 63 % of cases. A block
// with too few samples for a quantile (13 for p5, 7 for p10) does not count for it, and no pair
// without both arms. Each treatment block counts the same, as in Pair: the slow tail of seven
// blocks together is that of their slowest, which one control block is in one case of eight.
//
// Sources: Field and Welsh, JRSS B 69 (2007), the cluster bootstrap; Hesterberg, The American
// Statistician 69 (2015), section 5.3, the tails ("expanded percentile").

// draws: the share of them beyond an end is then known to 0.35 % (one standard deviation), as in stat.
const draws = 2000

// bootstrap fills the intervals.
func bootstrap(a arms, ratios *[3]Ratio, seed uint64) {
	r := stat.NewRand(seed, 0)
	d := once(a.pairs)
	var all [3][]float64
	for range draws {
		clear(d.times)
		for range a.pairs {
			d.times[r.Index(a.pairs)]++
		}
		t, c := d.quantiles(a.t), d.quantiles(a.c)
		for i := range all {
			all[i] = append(all[i], t[i]/c[i])
		}
	}
	tail := expanded(a.pairs)
	for i := range all {
		slices.Sort(all[i])
		ratios[i].Low, ratios[i].High = stat.Sorted(all[i], tail), stat.Sorted(all[i], 1-tail)
	}
}

// expanded returns the share of draws below the interval: 0.0072 for nine pairs, 0.025 for many.
func expanded(n int) float64 {
	free := float64(n - 1)
	return stat.Normal(math.Sqrt(float64(n)/free) * stat.StudentQuantile(0.025, free))
}

// student fills estimates and intervals from each pair's own quantiles.
func student(a arms, ratios *[3]Ratio) {
	t, c := split(a.t, a.pairs), split(a.c, a.pairs)
	for i, q := range Quantiles {
		var logs []float64
		for pair := range a.pairs {
			upper, okT := meanOfBlocks(t[pair], q)
			lower, okC := meanOfBlocks(c[pair], q)
			if okT && okC {
				logs = append(logs, upper-lower)
			}
		}
		if len(logs) < fewestForStudent {
			continue
		}
		mean, se := meanAndError(logs)
		half := -stat.StudentQuantile(0.025, float64(len(logs)-1)) * se
		ratios[i].Ratio, ratios[i].Low, ratios[i].High = math.Exp(mean), math.Exp(mean-half), math.Exp(mean+half)
	}
}

// split returns each pair's values by block, still in order.
func split(arm sorted, pairs int) []map[int64][]float64 {
	list := make([]map[int64][]float64, pairs)
	for i, pair := range arm.pairs {
		if list[pair] == nil {
			list[pair] = map[int64][]float64{}
		}
		list[pair][arm.blocks[i]] = append(list[pair][arm.blocks[i]], arm.values[i])
	}
	return list
}

// meanOfBlocks returns the mean of the ln quantiles of those blocks that have enough values.
func meanOfBlocks(blocks map[int64][]float64, q float64) (mean float64, ok bool) {
	sum, n := 0.0, 0.0
	for _, number := range slices.Sorted(maps.Keys(blocks)) {
		if v, enough := stat.SortedUnbiased(blocks[number], q); enough {
			sum, n = sum+math.Log(v), n+1
		}
	}
	return sum / n, n > 0
}

// meanAndError returns the mean of x and its standard error.
func meanAndError(x []float64) (mean, se float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		se += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(se / (n * (n - 1)))
}
