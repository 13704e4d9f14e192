package stat

import "testing"

// By hand: sizes, the share, and the most that one weighs.
func TestMostOf(t *testing.T) {
	for _, c := range []struct {
		sizes []float64
		c     float64
		want  float64
	}{
		{[]float64{1, 1, 1, 1}, 0.5, 2},
		{[]float64{16, 1, 1, 1}, 0.5, 3},               // 3 of 6
		{[]float64{20, 30, 5, 5, 5, 5}, 1. / 3, 20},    // 20 of 60 each: the first is just not capped
		{[]float64{100, 10, 10, 10, 10}, 0.4, 80. / 3}, // of 66.7
		{[]float64{9}, 2, 18},
		{[]float64{40, 1, 1, 1, 1}, 1. / 3, 2}, // 2 of 6
		{[]float64{10, 2, 1}, 1. / 3, 1},       // of three each has a third
	} {
		if got := MostOf(c.sizes, c.c); got < c.want*(1-1e-12) || got > c.want*(1+1e-12) {
			t.Errorf("%v at %v: %v, want %v", c.sizes, c.c, got, c.want)
		}
	}
}
