package effect

import (
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/stat"
)

func TestVarByHand(t *testing.T) {
	n := Noise{Block: 0.2, Conn: 0.66}
	for _, k := range []struct {
		p    Pair
		want float64
	}{
		{pairOf(block(5, 0), block(5, 0)), 0.08 + 0.4356*0.4},
		{pairOf(block(10, 0), seven(10, 0)...), 0.04*8/7 + 0.4356*(1./70+0.1)},
		{pairOf(block(5, 0), block(2, 0), block(10, 0)), (0.04 + 0.4356*0.8/3) * 3 / 2},
		{pairOf(block(2, 0), block(5, 0), block(10, 0)), (0.04 + 0.4356*0.8/3) * 3 / 2}, // another draw of the same blocks
	} {
		if got := n.Var(k.p); math.Abs(got-k.want) > 1e-12 {
			t.Errorf("%+v: %v, want %v", k.p, got, k.want)
		}
	}
}

// learn returns the noise of some prefixes of one kind.
func learn(c path, prefixes, hours int, bend func(pairs []Pair)) Noise {
	var all []Pair
	for _, pairs := range population(stat.NewRand(11, 11), slices.Repeat([]path{c}, prefixes), hours) {
		bend(pairs)
		all = append(all, pairs...)
	}
	return EstimateNoise(all)
}

// TestEstimateNoise: the truth comes back, whatever the effect; an outage in one pair of
// fifty barely moves it; a handful of pairs leaves the default.
func TestEstimateNoise(t *testing.T) {
	as := func([]Pair) {}
	loud := path{level: 14, block: 0.4, conn: 1, perWindow: 4, effect: 2, group: 2}
	outage := func(pairs []Pair) { pairs[len(pairs)/2].T[0].MeanLog -= 4 }
	for _, k := range []struct {
		name        string
		got         Noise
		block, conn float64
	}{
		{"default", learn(steady, 40, 24, as), 0.2, 0.66},
		{"loud, effect of 2", learn(loud, 40, 24, as), 0.4, 1},
		{"promoted", learn(loud.with(2, 4, 8), 60, 48, as), 0.4, 1},
		{"an outage in each", learn(loud, 40, 48, outage), 0.44, 1},
		{"two pairs", learn(loud, 1, 2, as), 0.2, 0.74},
		{"nothing", EstimateNoise(nil), 0.2, 0.66},
	} {
		if math.Abs(k.got.Block-k.block) > 0.04 || math.Abs(k.got.Conn-k.conn) > 0.08 || k.got.Freedom != freedom {
			t.Errorf("%s: %+v, want about %v and %v", k.name, k.got, k.block, k.conn)
		}
	}
}

// TestClippedMean: what min(z^2, bound) of a standard normal is, by a sum over it.
func TestClippedMean(t *testing.T) {
	for _, k := range [][2]float64{{clipBetween, meanBetween}, {clipWithin, meanWithin}} {
		sum := 0.0
		const step = 1e-4
		for z := -10 + step/2; z < 10; z += step {
			sum += step * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * min(z*z, k[0])
		}
		if math.Abs(sum-k[1]) > 1e-5 {
			t.Errorf("up to %v: %v, the constant says %v", k[0], sum, k[1])
		}
	}
}
