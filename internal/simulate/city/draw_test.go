package city

import (
	"math"
	"slices"
	"testing"
)

// TestNormal: moments and tails of 100,000 draws, each within four standard errors.
func TestNormal(t *testing.T) {
	const n = 100_000
	d := newDraws(1, 1)
	var sum, squares, cubes, beyond float64
	for range n {
		v := d.normal()
		sum, squares, cubes = sum+v, squares+v*v, cubes+v*v*v
		if math.Abs(v) > 1.96 {
			beyond++
		}
	}
	for name, v := range map[string][3]float64{
		"mean": {sum / n, 0, 1}, "variance": {squares / n, 1, math.Sqrt2}, "third moment": {cubes / n, 0, math.Sqrt(15)},
		"beyond 1.96": {beyond / n, 0.05, math.Sqrt(0.05 * 0.95)},
	} {
		if math.Abs(v[0]-v[1]) > 4*v[2]/math.Sqrt(n) {
			t.Errorf("%s %v, want %v", name, v[0], v[1])
		}
	}
}

// TestPoisson: mean and variance are both the mean asked for.
func TestPoisson(t *testing.T) {
	const n = 20_000
	d := newDraws(2, 1)
	for _, mean := range []float64{0, 0.3, 3, 128} {
		var sum, squares float64
		for range n {
			v := float64(d.poisson(mean))
			sum, squares = sum+v, squares+v*v
		}
		m := sum / n
		if v := squares/n - m*m; math.Abs(m-mean) > 4*math.Sqrt(mean/n) || math.Abs(v-mean) > 6*mean/math.Sqrt(n)+4*math.Sqrt(mean/n) {
			t.Errorf("mean %v: got %v, variance %v", mean, m, v)
		}
	}
}

// TestSlices: one number in each slice, none in its place of old.
func TestSlices(t *testing.T) {
	list := newDraws(3, 1).slices(50)
	if slices.IsSorted(list) {
		t.Error("not in random order")
	}
	slices.Sort(list)
	for i, v := range list {
		if int(v*50) != i {
			t.Errorf("number %d is %v", i, v)
		}
	}
}
