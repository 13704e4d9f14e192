package effect

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWatch: how often a network's block is suspected after a day of treated blocks, and how often when a gain is
// lost, with blocks that vary as the noise says and with blocks that vary three times as much.
func TestWatch(t *testing.T) {
	noise := Noise{Block: 0.2, Conn: 0.66, Freedom: freedom}
	const runs, conns = 4000, 30
	for _, c := range []struct {
		spread, gain float64 // of the blocks, beside the noise's; lost in the last
		least, most  float64 // share that is suspected
	}{
		{1, 1, 0, 0.001},
		{3, 1, 0, 0.01},
		{1, 3, 0.8, 1},
		{1, 1.5, 0.01, 0.10},
		{3, 3, 0.01, 0.2},
	} {
		rng, found := rand.New(rand.NewPCG(3, 9)), 0
		sd := c.spread * math.Sqrt(noise.ofBlock(Block{N: conns}))
		for range runs {
			var blocks []Block
			for range 40 {
				blocks = append(blocks, Block{N: conns, MeanLog: sd * rng.NormFloat64()})
			}
			w, ok := WatchOf(blocks, noise)
			yes, _ := w.Suspicious(Block{N: conns, MeanLog: sd*rng.NormFloat64() - math.Log(c.gain)})
			found += map[bool]int{true: 1}[ok && yes]
		}
		share := float64(found) / runs
		t.Logf("spread %g, x %g lost: %.2f %%", c.spread, c.gain, 100*share)
		if share < c.least || share > c.most {
			t.Errorf("spread %g, x %g lost: %.2f %%, want %g to %g", c.spread, c.gain, 100*share, c.least, c.most)
		}
	}
}

// TestShows: the loss of a benefit shows in a block if it is large beside the spread of the blocks.
func TestShows(t *testing.T) {
	noise := Noise{Block: 0.2, Conn: 0.66, Freedom: freedom}
	for _, c := range []struct {
		apart float64 // of the blocks, ln
		gain  float64
		want  bool
	}{{0, 3, true}, {0, 2.1, true}, {0, 1.5, false}, {2, 3, false}, {0, 0, false}} {
		w, _ := WatchOf([]Block{{N: 15}, {N: 15, MeanLog: c.apart}, {N: 15}, {N: 15, MeanLog: c.apart}}, noise)
		if got := w.Shows(math.Log(c.gain)); got != c.want {
			t.Errorf("blocks %g apart, x %g: %t", c.apart, c.gain, got)
		}
	}
	if _, ok := WatchOf([]Block{{N: 15}}, noise); ok {
		t.Error("one block is no mean")
	}
}
