package effect

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/core/stat"
)

// Intervals of a ratio of quantiles.
//
// From nine pairs: pairs are drawn again, with replacement, as wholes: both arms of one
// prefix and group. What a prefix is worth is in both and cancels. Drawing (prefix,
// block) instead re-draws the differences between prefixes, which are much larger than
// the effect: intervals that always hold and tell nothing. The interval's ends are
// quantiles of the draws, wider by what n pairs do not know of their own spread:
//
//	tail = Phi(sqrt(n / (n-1)) t(2.5 %, n-1)),  ends at tail and 1 - tail
//
// From three: t over the pairs' own ln ratios, of median-unbiased quantiles. A promoted pair
// has seven times as many treated samples as controls, and the type-7 p5 of 15 values is on
// average their p10: intervals around such differences hold the truth in 63 % of cases. A pair
// with too few samples in an arm for a quantile (13 for p5, 7 for p10) does not count for it.
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

// expanded is the share of draws below the interval: 0.0072 for nine pairs, 0.025 for many.
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
			upper, okT := stat.SortedUnbiased(t[pair], q)
			lower, okC := stat.SortedUnbiased(c[pair], q)
			if okT && okC {
				logs = append(logs, math.Log(upper/lower))
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

// split gives each pair's values, still in order.
func split(arm sorted, pairs int) [][]float64 {
	list := make([][]float64, pairs)
	for i, pair := range arm.pairs {
		list[pair] = append(list[pair], arm.values[i])
	}
	return list
}

// meanAndError gives the mean of x and its standard error.
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
