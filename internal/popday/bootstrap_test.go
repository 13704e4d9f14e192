package popday

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// TestQuantileOfDrawn: a value that was drawn k times is k values.
func TestQuantileOfDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 30).Draw(t, "values")
		clusters := make([]int32, len(values))
		times := make([]uint16, 5)
		for i := range values {
			clusters[i] = int32(rapid.IntRange(0, 4).Draw(t, "cluster"))
		}
		for i := range times {
			times[i] = uint16(rapid.IntRange(0, 3).Draw(t, "times"))
		}
		quantiles := []float64{0.05, 0.5}
		s := (&resampling{times: [][]uint16{times}}).series(values, clusters, quantiles...)
		var spread []float64
		for i, v := range values {
			spread = append(spread, slices.Repeat([]float64{v}, int(times[clusters[i]]))...)
		}
		slices.Sort(spread)
		for i, q := range quantiles {
			want := stat.Sorted(spread, q)
			if got := s.found[i][0]; math.Abs(got-want) > 1e-9 && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%v: %v, want %v", q, got, want)
			}
		}
	})
}

// TestDrawsKeepTheStrata: each draw has as many clusters of a stratum as there are.
func TestDrawsKeepTheStrata(t *testing.T) {
	b := &resampling{}
	b.draw([][]int32{{0, 2}, {1, 3, 4}}, 5, 1)
	for i, times := range b.times {
		if times[0]+times[2] != 2 || times[1]+times[3]+times[4] != 3 || i == 0 && slices.Max(times) > 1 {
			t.Fatalf("draw %d: %v", i, times)
		}
	}
}

// TestIntervalNeedsValues: of draws without a value there is no interval.
func TestIntervalNeedsValues(t *testing.T) {
	if interval(func(d int) float64 { return math.NaN() }) != nil {
		t.Error("of nothing")
	}
	if i := interval(func(d int) float64 { return float64(d % 1000) }); i == nil || i.Value != 0 || math.Abs(i.Low-25) > 2 || math.Abs(i.High-975) > 2 {
		t.Errorf("%+v", i)
	}
	if interval(func(d int) float64 {
		if d%10 == 1 {
			return math.Inf(1)
		}
		return 1
	}) != nil {
		t.Error("a tenth has no value")
	}
}
