package stat

import (
	"math"
	"slices"
)

// A type-7 quantile of weighted values. Type 7 is the mean of the sample's step function over
// one n-th of its length, from h/n to (h+1)/n with h = q (n-1). Weights stretch the steps, and
// n becomes the number of equal observations that the weights are worth (Kish, Survey
// Sampling, 1965):
//
//	n = (sum w)^2 / sum w^2
//
// Equal weights give Sorted. Source: Akinshin, "Weighted quantile estimators",
// arXiv:2304.07265 (2023), section 3.

// rounding: a part of the sum this small is none, or a step that ends where the interval begins would count.
const rounding = 1e-12

// Running returns the running sums of weights, for Weighted.
func Running(w []float64) []float64 {
	sums, sum := make([]float64, len(w)), 0.0
	for i, v := range w {
		sum += v
		sums[i] = sum
	}
	return sums
}

// Weighted returns the quantile of values in ascending order by the running sums of their
// weights, worth n observations (as above, or a better number from the caller). NaN if nothing
// has weight, or if q is not in 0..1. Running sums allow a binary search: the bootstrap asks
// for many quantiles of the same weights.
func Weighted(x, sums []float64, n, q float64) float64 {
	if len(sums) == 0 || !(sums[len(sums)-1] > 0 && n > 0 && q >= 0 && q <= 1) {
		return math.NaN()
	}
	total := sums[len(sums)-1]
	n = max(n, 1)
	low := q * (n - 1) / n * total
	high := low + total/n
	i, _ := slices.BinarySearch(sums, low)
	var sum, taken float64
	first, last := math.NaN(), 0.0
	for ; i < len(sums); i++ {
		begin := low
		if i > 0 {
			begin = max(low, sums[i-1])
		}
		if part := min(high, sums[i]) - begin; part > rounding*total {
			sum += part * x[i]
			taken += part
			if math.IsNaN(first) {
				first = x[i]
			}
			last = x[i]
		}
		if sums[i] >= high {
			break
		}
	}
	return min(max(sum/taken, first), last) // of equal values it is that value, whatever the rounding
}
