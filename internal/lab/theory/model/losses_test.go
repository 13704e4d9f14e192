package model

import (
	"flag"
	"math"
	"testing"

	"github.com/congctl/congctl/internal/tcp/stat"
)

var rewrite = flag.Bool("rewrite", false, "write golden files")

// TestLossesAreBinomial: mean and variance as of packets drawn one by one, on both sides
// of the change to the normal distribution.
func TestLossesAreBinomial(t *testing.T) {
	const draws = 20_000
	for _, k := range []struct {
		n int
		p float64
	}{{1, 0.5}, {8, 0.16}, {100, 0.001}, {1000, 0.01}, {1000, 0.029}, {1000, 0.031}, {5000, 0.16}} {
		random := stat.NewRand(7, 7)
		var sum, squares float64
		for range draws {
			x := losses(random, k.n, k.p)
			if x < 0 || x > k.n {
				t.Fatalf("%d of %d lost", x, k.n)
			}
			sum += float64(x)
			squares += float64(x) * float64(x)
		}
		mean := float64(k.n) * k.p
		variance := mean * (1 - k.p)
		got := sum / draws
		if off := math.Abs(got-mean) / math.Sqrt(variance/draws); off > 4 {
			t.Errorf("n %d, p %g: mean %.4g, want %.4g", k.n, k.p, got, mean)
		}
		if v := squares/draws - got*got; math.Abs(v/variance-1) > 0.06 {
			t.Errorf("n %d, p %g: variance %.4g, want %.4g", k.n, k.p, v, variance)
		}
	}
	if losses(stat.NewRand(1, 1), 1e6, 0) != 0 {
		t.Error("lost something without loss")
	}
}
