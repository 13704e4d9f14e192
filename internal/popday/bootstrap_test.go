package popday

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/core/stat"
)

// TestQuantileOfDrawn: a value that was drawn k times is k values.
func TestQuantileOfDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 30).Draw(t, "values")
		clusters := make([]int32, len(values))
		times := make([]int32, 5)
		for i := range values {
			clusters[i] = int32(rapid.IntRange(0, 4).Draw(t, "cluster"))
		}
		for i := range times {
			times[i] = int32(rapid.IntRange(0, 3).Draw(t, "times"))
		}
		s := newSeries(values, clusters, 0.05, 0.5)
		s.note(times, make([]int32, len(values)))
		var spread []float64
		for i, v := range values {
			spread = append(spread, slices.Repeat([]float64{v}, int(times[clusters[i]]))...)
		}
		slices.Sort(spread)
		for i, q := range s.at {
			want := stat.Sorted(spread, q)
			if got := s.found[i][0]; math.Abs(got-want) > 1e-9 && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%v: %v, want %v", q, got, want)
			}
		}
	})
}

// TestDrawsKeepTheStrata: each draw has as many clusters of a stratum as there are.
func TestDrawsKeepTheStrata(t *testing.T) {
	b := &resampling{strata: [][]int32{{0, 2}, {1, 3, 4}}, count: 5}
	times := make([]int32, 5)
	r := stat.NewRand(1, 1)
	for range 100 {
		if b.draw(r, times); times[0]+times[2] != 2 || times[1]+times[3]+times[4] != 3 {
			t.Fatalf("%v", times)
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
