package model

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// losses draws how many of n packets are lost, each with probability p. It jumps from loss
// to loss over geometric gaps, log(u) / log(1-p), so that a large window with few losses
// costs little; for many losses, the normal distribution replaces the binomial.
func losses(random *stat.Rand, n int, p float64) (k int) {
	if p <= 0 {
		return 0
	}
	if mean := float64(n) * p; mean > manyLosses {
		k := math.Round(mean + math.Sqrt(mean*(1-p))*normal(random))
		return int(min(max(k, 0), float64(n)))
	}
	scale := 1 / math.Log1p(-p)
	gap := func() float64 { return math.Floor(math.Log(1-random.Float64()) * scale) }
	for i := gap(); i < float64(n); i += 1 + gap() {
		k++
	}
	return k
}

// manyLosses is a mean from which on the skew of the binomial is below a fifth.
const manyLosses = 30

// normal has mean 0 and variance 1 (Box and Muller, 1958).
func normal(random *stat.Rand) float64 {
	return math.Sqrt(-2*math.Log(1-random.Float64())) * math.Cos(2*math.Pi*random.Float64())
}
