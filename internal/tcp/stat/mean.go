package stat

import "math"

// Mean collects a weighted mean. The zero value is empty.
//
//	mean = sum(w x) / sum(w)
//
// With whole values and weights, and sums below 2^53, nothing is rounded before the division:
// the order of the additions does not matter.
type Mean struct{ sum, weight float64 }

// Add counts x with weight w; it ignores a weight of zero or less.
func (m *Mean) Add(x, w float64) {
	if w > 0 {
		m.sum += w * x
		m.weight += w
	}
}

// Weight returns the sum of the weights.
func (m *Mean) Weight() float64 { return m.weight }

// Value returns the mean, in the unit of the values; NaN without any.
func (m *Mean) Value() float64 {
	if m.weight == 0 {
		return math.NaN()
	}
	return m.sum / m.weight
}

// Moments returns mean and variance (by N). The second pass over the differences keeps
// digits that a sum of squares would lose.
func Moments(x []float64) (mean, variance float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		d := v - mean
		variance += d * d / n
	}
	return mean, variance
}

// WeightedMoments returns mean and variance (by the sum of the weights) of values that each stand for w of them.
func WeightedMoments(x, w []float64) (mean, variance float64) {
	sum := 0.0
	for _, v := range w {
		sum += v
	}
	for i, v := range x {
		mean += v * (w[i] / sum)
	}
	for i, v := range x {
		d := v - mean
		variance += d * d * (w[i] / sum)
	}
	return mean, variance
}
