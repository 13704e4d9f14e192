package effect

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// shown is a promoted pair of 15 connections a block whose difference is d.
func shown(d float64) Pair {
	p := Pair{C: Block{N: 15}}
	for range 7 {
		p.T = append(p.T, Block{N: 15, MeanLog: d})
	}
	return p
}

// TestFaded: how often a network is doubted after six pairs of 2.7 x, and how many pairs that takes:
// while the effect lasts, in at most n / 50 of the runs, though any of n pairs may be the start.
func TestFaded(t *testing.T) {
	noise := Noise{Block: 0.2, Conn: 0.66, Freedom: freedom}
	sd := math.Sqrt(noise.Var(shown(0)))
	for _, c := range []struct {
		before, then  float64 // effects
		least, most   float64 // share of runs that are doubted within six more pairs
		earliest, end int     // median of those pairs
	}{
		{1.5, 1.5, 0, 12.0 / 50, 0, 6},
		{2.7, 2.7, 0, 12.0 / 50, 0, 6},
		{2.7, 2.2, 0, 12.0 / 50, 0, 6},
		{2.7, 1, 0.88, 1, 1, 3},
		{2.7, 0.6, 0.99, 1, 1, 2},
		{1.5, 1, 0.6, 1, 2, 6},
		{1.5, 0.6, 0.95, 1, 1, 4},
	} {
		const runs = 1000
		rng, doubted := rand.New(rand.NewPCG(5, 8)), make([]int, 7)
		for range runs {
			var pairs []Pair
			for n := range 12 {
				at := c.before
				if n >= 6 {
					at = c.then
				}
				pairs = append(pairs, shown(math.Log(at)+sd*rng.NormFloat64()))
				if yes, why := Faded(pairs, noise); yes {
					if !strings.Contains(why, "no benefit") {
						t.Fatal(why)
					}
					doubted[max(n-5, 0)]++
					break
				}
			}
		}
		sum, median := 0, 0
		for n, k := range doubted {
			if sum += k; median == 0 && 2*sum >= runs {
				median = n
			}
		}
		share := float64(sum-doubted[0]) / float64(runs-doubted[0])
		t.Logf("x %g, then x %g: doubted before %.1f %%, then %.1f %%, median pair %d", c.before, c.then, float64(doubted[0])/runs*100, 100*share, median)
		if share < c.least || share > c.most || float64(doubted[0]) > 6*runs/50 || median > 0 && (median < c.earliest || median > c.end) {
			t.Errorf("want %g to %g, after %d to %d pairs", c.least, c.most, c.earliest, c.end)
		}
	}
	if yes, _ := Faded(nil, noise); yes {
		t.Error("nothing shown, and faded")
	}
}
