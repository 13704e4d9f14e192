package city

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// draws are random numbers of one purpose: stat.Rand with the model's distributions.
type draws struct {
	*stat.Rand
	spare float64
	has   bool
}

// Streams: the city itself, the drift of its paths, what nuisances change of both, and each window of
// each prefix, without and with nuisances. So a nuisance changes no draw of the others.
const (
	placesStream   = 1
	driftStream    = 2
	changeStream   = 3
	jumpStream     = 4
	windowStream   = 1000    // and the number of the prefix
	nuisanceStream = 1 << 32 // and the number of the prefix
)

func newDraws(seed, stream uint64) *draws { return &draws{Rand: stat.NewRand(mixed(seed), stream)} }

// mixed spreads neighbouring seeds over all 64 bits (the finalizer of SplitMix64: Steele,
// Lea and Flood, OOPSLA 2014): PCG starts close for seeds that are close.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// normal returns a standard normal number: Box and Muller, Annals of Mathematical
// Statistics 29 (1958), two at a time.
func (d *draws) normal() float64 {
	if d.has {
		d.has = false
		return d.spare
	}
	radius := math.Sqrt(-2 * math.Log((float64(d.Uint32())+0.5)/(1<<32)))
	sin, cos := math.Sincos(2 * math.Pi * d.Float64())
	d.spare, d.has = radius*sin, true
	return radius * cos
}

// poisson counts how many uniform numbers it takes to fall below exp(-mean) (Knuth,
// The Art of Computer Programming 2, 3.4.1). Means here are below 130.
func (d *draws) poisson(mean float64) int {
	limit, product := math.Exp(-mean), d.Float64()
	n := 0
	for product > limit {
		product *= d.Float64()
		n++
	}
	return n
}

// order is a random order of the numbers below n (Fisher and Yates).
func (d *draws) order(n int) []int {
	list := make([]int, n)
	for i := range list {
		j := d.Index(i + 1)
		list[i], list[j] = list[j], i
	}
	return list
}

// slices returns one uniform number from each of n even slices of 0..1, in random order
// (a Latin hypercube of one dimension: McKay, Beckman and Conover, Technometrics 21, 1979).
func (d *draws) slices(n int) []float64 {
	out := make([]float64, n)
	for i, at := range d.order(n) {
		out[i] = (float64(at) + (float64(d.Uint32())+0.5)/(1<<32)) / float64(n)
	}
	return out
}

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
