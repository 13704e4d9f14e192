package stat

import (
	"math"
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

// Sorted returns the quantile of values in ascending order, in their unit. NaN if there are
// none, if q is not in 0..1, or if one of them is NaN (a NaN must stand first, where
// slices.Sort puts it).
func Sorted(x []float64, q float64) float64 {
	if len(x) == 0 || !(q >= 0 && q <= 1) || math.IsNaN(x[0]) {
		return math.NaN()
	}
	h := q * float64(len(x)-1)
	i := int(h)
	if h == float64(i) {
		return x[i]
	}
	return lerp(x[i], x[i+1], h-float64(i))
}

// SortedUnbiased is definition 8 of Hyndman and Fan: the quantile that is too high as often as
// too low, whatever the distribution. Type 7 of few values lies too far inside, the more so
// the fewer there are, so that samples of different sizes differ where nothing does. ok is
// false if there are too few values: beyond the medians of the smallest and largest.
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

// Quantile is Sorted for values in any order. It sorts x and allocates nothing.
func Quantile(x []float64, q float64) float64 {
	slices.Sort(x)
	return Sorted(x, q)
}

// Median is Quantile(x, 0.5). It sorts x.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

func lerp(a, b, t float64) float64 {
	switch {
	case a == b: // also keeps infinities from giving Inf - Inf
		return a
	case t < 0.5:
		return a + (b-a)*t
	}
	return b - (b-a)*(1-t)
}
