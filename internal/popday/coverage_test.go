package popday_test

import (
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/popdaytest"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// replicates returns how many days a test makes up; CONGCTL_REPLICATES=500 makes more.
func replicates(t *testing.T, few int) int {
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

// fewest returns how many of n intervals of 95 % must hold their truth. Of honest ones
// fewer do once in 10,000 times:
//
//	P(X < k) = sum over i < k of C(n, i) 0.95^i 0.05^(n-i) < 1/10,000
//
// which gives 177 of 200 (88.5 %) and 85 of 100.
func fewest(n int) int {
	choose := func(k int) float64 {
		all, _ := math.Lgamma(float64(n + 1))
		in, _ := math.Lgamma(float64(k + 1))
		out, _ := math.Lgamma(float64(n - k + 1))
		return all - in - out
	}
	below := 0.0
	for k := 0; ; k++ {
		below += math.Exp(choose(k) + float64(k)*math.Log(0.95) + float64(n-k)*math.Log(0.05))
		if below >= 1e-4 {
			return k
		}
	}
}

// TestEstimateCovers: over many days the interval of the randomised blocks holds what
// was put in, and the estimate is not off on average. One day's estimate has a standard
// deviation of 4.8 %, so the mean of 200 has 0.34 %, and 1.5 % is 4.4 of those.
func TestEstimateCovers(t *testing.T) {
	n := replicates(t, 200)
	held := 0
	var off stat.Mean
	for luck := range uint64(n) {
		in := imagined(t, luck, truth, []uint64{luck%5 + 1}, "loop")
		b := effectOf(t, popday.EffectsOf(in), "lossy").Goodput.P10
		off.Add(math.Log(b.Ratio/2.5), 1)
		if b.Interval != nil && b.Interval.Low <= 2.5 && 2.5 <= b.Interval.High {
			held++
		}
	}
	t.Logf("%d of %d hold, off by %+.1f %% on average", held, n, 100*(math.Exp(off.Value())-1))
	if held < fewest(n) || math.Abs(off.Value()) > 0.015 {
		t.Errorf("%d of %d hold, want %d; off by %v", held, n, fewest(n), off.Value())
	}
}

// TestNothingIsNothing: policies that do nothing differ from CUBIC no more often than
// one in twenty times, by either way to draw again.
func TestNothingIsNothing(t *testing.T) {
	n := replicates(t, 100)
	held, over := [2]int{}, [2]int{} // by the number of seeds
	for luck := range uint64(n) {
		in := imagined(t, luck, popdaytest.Truth{}, []uint64{1, 2}, "cubic", "bbr")
		for seeds := range 2 {
			some := *in
			some.Runs = in.Runs[:2*(seeds+1)]
			l := policyOf(t, popday.CompareOf(&some), "bbr").Large.P10
			if l.Ratio.Low <= 1 && l.Ratio.High >= 1 {
				held[seeds]++
			}
			if l.Other.Low <= 1 && l.Other.High >= 1 {
				over[seeds]++
			}
		}
	}
	for seeds := range 2 {
		t.Logf("%d seeds: 1 is in %d of %d, over networks in %d", seeds+1, held[seeds], n, over[seeds])
		if held[seeds] < fewest(n) || over[seeds] < fewest(n) {
			t.Errorf("%d seeds: 1 is in %d and %d of %d, want %d", seeds+1, held[seeds], over[seeds], n, fewest(n))
		}
	}
}
