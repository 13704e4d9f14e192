package stat

import "math"

// Mean collects a weighted mean. The zero value has seen nothing.
//
//	mean = sum(w x) / sum(w)
//
// With whole values and weights, and sums below 2^53, nothing is rounded before
// the division: the order of the additions cannot matter.
type Mean struct{ sum, weight float64 }

// Add counts x with weight w; a weight of zero or less counts for nothing.
func (m *Mean) Add(x, w float64) {
	if w > 0 {
		m.sum += w * x
		m.weight += w
	}
}

// Weight is the sum of the weights.
func (m *Mean) Weight() float64 { return m.weight }

// Value is the mean, in the unit of the values; NaN when nothing was counted.
func (m *Mean) Value() float64 {
	if m.weight == 0 {
		return math.NaN()
	}
	return m.sum / m.weight
}
