package stat

import (
	"cmp"
	"slices"
)

// MostOf returns the most that one of several weighs where none may have more than the share c of
// all: with each cut to the returned value m,
//
//	m = c W,   W = sum of min(size, m)
//
// 1/c of them at least must be there, or m does not exist; where just so many are, all weigh
// the same. It sorts sizes, the largest first.
func MostOf(sizes []float64, c float64) float64 {
	slices.SortFunc(sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	rest := 0.0
	for _, n := range sizes {
		rest += n
	}
	for i, n := range sizes { // the i largest are cut: W = rest / (1 - i c)
		if most := c * rest / (1 - float64(i)*c); n <= most {
			return most
		}
		rest -= n
	}
	if len(sizes) == 0 {
		return 0
	}
	return sizes[len(sizes)-1] // all are cut: they weigh the same
}
