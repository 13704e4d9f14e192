package popday_test

import (
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/congctl/congctl/internal/core/popday"
	"github.com/congctl/congctl/internal/core/popday/popdaytest"
)

// few replicates of a day, so that the tests stay quick. CONGCTL_REPLICATES=500 makes more.
const few = 12

func replicates(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CONGCTL_REPLICATES")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < few {
		t.Fatalf("CONGCTL_REPLICATES=%q: want a number of at least %d", text, few)
	}
	return n
}

// slack: an interval of 95 % that holds its truth in 95 % of n misses by more once in a
// thousand times.
func slack(n int) float64 { return 3.3 * math.Sqrt(0.95*0.05/float64(n)) }

// TestEstimateCovers: over many days the interval of the randomised blocks holds what
// was put in, and the estimate is not off on average.
func TestEstimateCovers(t *testing.T) {
	n := replicates(t)
	held, sum := 0.0, 0.0
	for luck := range uint64(n) {
		in := imagined(t, luck, truth, []uint64{luck%5 + 1}, "loop")
		b := effectOf(t, popday.EffectsOf(in), "lossy").Goodput.P10
		sum += math.Log(b.Ratio/2.5) / float64(n)
		if b.Interval != nil && b.Interval.Low <= 2.5 && 2.5 <= b.Interval.High {
			held += 1 / float64(n)
		}
	}
	t.Logf("holds in %.0f %%, off by %+.1f %% on average", 100*held, 100*(math.Exp(sum)-1))
	if held < 0.95-slack(n) || math.Abs(sum) > 0.05 {
		t.Errorf("holds in %v, off by %v", held, sum)
	}
}

// TestNothingIsNothing: policies that do nothing differ from CUBIC no more often than
// one in twenty times, by either way to draw again.
func TestNothingIsNothing(t *testing.T) {
	n := replicates(t)
	for _, seeds := range [][]uint64{{1}, {1, 2}} {
		wrong, other := 0.0, 0.0
		for luck := range uint64(n) {
			in := imagined(t, luck, popdaytest.Truth{}, seeds, "cubic", "bbr")
			l := policyOf(t, popday.CompareOf(in), "bbr").Large.P10
			if l.Ratio.Low > 1 || l.Ratio.High < 1 {
				wrong += 1 / float64(n)
			}
			if l.Other.Low > 1 || l.Other.High < 1 {
				other += 1 / float64(n)
			}
		}
		t.Logf("%d seeds: excludes 1 in %.0f %%, over networks in %.0f %%", len(seeds), 100*wrong, 100*other)
		if wrong > 0.05+slack(n) || other > 0.05+slack(n) {
			t.Errorf("%d seeds: %v and %v", len(seeds), wrong, other)
		}
	}
}
