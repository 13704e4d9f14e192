package stat

import (
	"math"
	"math/bits"
	"slices"
)

// Type-7 quantile: linear interpolation between order statistics, the default
// of NumPy, R and Excel, and ClickHouse's quantileExactInclusive. For sorted
// x[0..n-1] and a fraction q:
//
//	h = q (n-1),  i = floor(h),  t = h - i
//	Q = x[i] + t (x[i+1] - x[i])
//
// Source: Hyndman and Fan, "Sample Quantiles in Statistical Packages", The
// American Statistician 50 (1996), definition 7. For t >= 1/2 the interpolation
// starts from the upper value, as NumPy's does, so that Q grows with q in
// floating point too and never leaves x[i]..x[i+1].

// Sorted gives the quantile of values in ascending order, in their unit. NaN
// when there are none, when q is not in 0..1, or when one of them is NaN (a NaN
// must stand first, where slices.Sort puts it).
func Sorted(x []float64, q float64) float64 {
	i, t, ok := position(len(x), q)
	if !ok || math.IsNaN(x[0]) {
		return math.NaN()
	}
	if t == 0 {
		return x[i]
	}
	return lerp(x[i], x[i+1], t)
}

// SortedUnbiased is definition 8 of Hyndman and Fan: the quantile that is too high as
// often as too low, whatever the distribution. Type 7 of few values lies too far inside,
// the more the fewer, so that samples of different sizes differ where nothing does. ok is
// false where so few values cannot tell: beyond the medians of the smallest and largest.
//
//	h = (n + 1/3) q + 1/3 - 1,  0 <= h <= n-1
func SortedUnbiased(x []float64, q float64) (value float64, ok bool) {
	h := (float64(len(x))+1./3)*q + 1./3 - 1
	if !(h >= 0 && h <= float64(len(x)-1)) {
		return math.NaN(), false
	}
	i := int(h)
	if i == len(x)-1 {
		return x[i], true
	}
	return lerp(x[i], x[i+1], h-float64(i)), true
}

// Quantile is Sorted for values in any order, in linear time on average. It
// reorders x and allocates nothing. For many quantiles of the same values, sort
// once and use Sorted.
func Quantile(x []float64, q float64) float64 {
	i, t, ok := position(len(x), q)
	if !ok || slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	selectNth(x, i)
	if t == 0 {
		return x[i]
	}
	return lerp(x[i], slices.Min(x[i+1:]), t)
}

// Median is Quantile(x, 0.5). It reorders x.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// position gives the index below the quantile and the fraction of the way to
// the next value; t is 0 at the last one.
func position(n int, q float64) (i int, t float64, ok bool) {
	if n == 0 || !(q >= 0 && q <= 1) {
		return 0, 0, false
	}
	h := q * float64(n-1)
	i = int(h)
	if i >= n-1 {
		return n - 1, 0, true
	}
	return i, h - float64(i), true
}

func lerp(a, b, t float64) float64 {
	switch {
	case a == b: // also keeps infinities from giving Inf - Inf
		return a
	case t < 0.5:
		return a + (b-a)*t
	}
	return b - (b-a)*(1-t)
}

// selectNth puts the k-th smallest value at x[k], no larger ones before it and
// no smaller ones after (Hoare's Find, CACM 4, 1961; median of three as pivot, so
// that sorted input, which is the usual one, is the best case). A range that does
// not shrink fast is sorted instead: no input takes more than n log n.
func selectNth(x []float64, k int) {
	lo, hi := 0, len(x)-1
	for budget := 2 * bits.Len(uint(len(x))); hi-lo > 12; budget-- {
		if budget == 0 {
			break
		}
		i, j := partition(x, lo, hi)
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
	slices.Sort(x[lo : hi+1])
}

// partition splits x[lo..hi] so that x[lo..j] <= pivot <= x[i..hi] and all
// between are the pivot.
func partition(x []float64, lo, hi int) (i, j int) {
	pivot := central(x[lo], x[lo+(hi-lo)/2], x[hi])
	i, j = lo, hi
	for i <= j {
		for x[i] < pivot {
			i++
		}
		for x[j] > pivot {
			j--
		}
		if i <= j {
			x[i], x[j] = x[j], x[i]
			i++
			j--
		}
	}
	return i, j
}

func central(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }
