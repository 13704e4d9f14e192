package stat

import (
	"math"
	"slices"
)

// PairedRatio is the median of x[i]/base[i] and its interval: for pairs that met
// the same conditions, which then divide out. Both must be as long.
func PairedRatio(x, base []float64) Interval {
	ratios := make([]float64, len(x))
	for i := range x {
		ratios[i] = x[i] / base[i]
	}
	return MedianInterval(ratios)
}

// Ratio is that of the medians of two independent samples, with the interval of the
// bootstrap that draws from both (see MedianInterval; below six values of either
// the bias is not corrected: it cannot be told from so few). NaN for no values.
func Ratio(x, base []float64) Interval {
	x, base = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(base))
	estimate := Sorted(x, 0.5) / Sorted(base, 0.5)
	if math.IsNaN(estimate) {
		return Interval{estimate, estimate, estimate}
	}
	r := NewRand(bootstrapSeed, 1)
	draws := make([]float64, resamples)
	againX, againBase := make([]float64, len(x)), make([]float64, len(base))
	for i := range draws {
		draws[i] = r.median(x, againX) / r.median(base, againBase)
	}
	if min(len(x), len(base)) < fewest {
		slices.Sort(draws)
		return Interval{estimate, Sorted(draws, (1-level)/2), Sorted(draws, (1+level)/2)}
	}
	return corrected(estimate, draws)
}
