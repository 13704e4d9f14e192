package scenario

import (
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// TestLTEQuantiles: a long walk has the measured distribution, whatever its pace, and
// is silent for the asked share of time. 39,000 s with a memory of 15 s are 2,600
// independent looks: a quantile is within a few per cent.
func TestLTEQuantiles(t *testing.T) {
	for _, everyUs := range []uint64{1e6, 250e3} {
		for name, level := range attenuations {
			l := &lte{level: level, seed: 5, everyUs: everyUs}
			steps := l.steps(&Path{RTTUs: 50e3}, 39_000*everyUs)
			if len(steps) != 39_000 {
				t.Fatalf("%s: %d steps", name, len(steps))
			}
			var rates []float64
			silent := 0.0
			for _, s := range steps {
				if s.RateBitPerS == outageBitPerS {
					silent++
				} else {
					rates = append(rates, float64(s.RateBitPerS))
				}
			}
			if share := silent / 39_000; math.Abs(share-float64(level.outagePPM)/ppm) > 0.015 {
				t.Errorf("%s: silent for %.3f of the time", name, share)
			}
			slices.Sort(rates)
			for q, mbit := range map[float64]float64{0.05: 1.2, 0.25: 3.6, 0.5: 5.7, 0.75: 8.4, 0.95: 11.4} {
				want := mbit / 5.7 * float64(level.medianBitPerS)
				if got := stat.Sorted(rates, q); math.Abs(got/want-1) > 0.15 {
					t.Errorf("%s every %d us: p%.0f is %.0f bit/s, measured %.0f", name, everyUs, 100*q, got, want)
				}
			}
		}
	}
}

// TestLTEWalks: neighbouring seconds are alike, distant ones are not, and another seed
// is another link.
func TestLTEWalks(t *testing.T) {
	rates := func(seed uint64) (x []float64) {
		l := &lte{level: attenuations["0dB"], seed: seed, everyUs: 1e6}
		for _, s := range l.steps(&Path{}, 20_000e6) {
			x = append(x, float64(s.RateBitPerS))
		}
		return x
	}
	x := rates(1)
	if near, far := correlation(x, 1), correlation(x, 120); near < 0.8 || math.Abs(far) > 0.2 {
		t.Errorf("correlation %.2f after a second, %.2f after two minutes", near, far)
	}
	if slices.Equal(x, rates(2)) {
		t.Error("two seeds, one link")
	}
}

func correlation(x []float64, lag int) float64 {
	var mean, both, square float64
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for i := range x[lag:] {
		both += (x[i] - mean) * (x[i+lag] - mean)
		square += (x[i] - mean) * (x[i] - mean)
	}
	return both / square
}

// TestFold: what leaves at one end comes back from there.
func TestFold(t *testing.T) {
	for v, want := range map[int64]uint64{0: 0, 65535: 65535, -3: 3, 65540: 65530, 3*65535 + 1: 65534, -2 * 65535: 0} {
		if got := fold(v); got != want {
			t.Errorf("%d comes to %d, want %d", v, got, want)
		}
	}
}

// TestQuantileEnds: the table covers the whole range and only grows.
func TestQuantileEnds(t *testing.T) {
	last := uint64(0)
	for u := range uint64(65536) {
		if q := quantile(u); q < last {
			t.Fatalf("falls at %d", u)
		} else {
			last = q
		}
	}
	if quantile(0) != 105 || last < 2130 {
		t.Errorf("ends at %d and %d", quantile(0), last)
	}
}
