package stat

import (
	"math"
	"slices"
)

// PairedRatio returns the median of x[i]/base[i] and its interval, for pairs under the same
// conditions, which then cancel. Both must have the same length.
func PairedRatio(x, base []float64) Interval {
	ratios := make([]float64, len(x))
	for i := range x {
		ratios[i] = x[i] / base[i]
	}
	return MedianInterval(ratios)
}

// Ratio returns the ratio of the medians of two independent samples, with the interval of a
// bootstrap that draws from both (see MedianInterval; with few values of either it is too
// narrow in the same way). NaN for no values.
func Ratio(x, base []float64) Interval {
	x, base = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(base))
	estimate := Sorted(x, 0.5) / Sorted(base, 0.5)
	if math.IsNaN(estimate) {
		return Interval{estimate, estimate, estimate}
	}
	r := NewRand(bootstrapSeed, 1)
	draws := make([]float64, resamples)
	drawnX, drawnBase := make([]int, len(x)), make([]int, len(base))
	for i := range draws {
		draws[i] = r.median(x, drawnX) / r.median(base, drawnBase)
	}
	return ends(estimate, draws)
}
