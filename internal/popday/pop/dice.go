package pop

import "math"

// dice is SplitMix64 (Steele, Lea, Flood 2014) with the few distributions that a day needs.
// It is our own, so that a seed gives the same day with every release of Go.
type dice uint64

// Streams of random numbers. Each network has its own of each, so that one more network, or
// one more session, leaves those of the others unchanged.
const (
	streamSpread = 1 + iota
	streamVary
	streamFetches
	streamPages
	streamPath
)

func newDice(seed uint64, network int, stream uint64) *dice {
	d := dice(seed)
	for _, n := range []uint64{uint64(network) + 1, stream} {
		d = dice(d.next() + n*0x9e3779b97f4a7c15)
	}
	return &d
}

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// share is uniform in [0, 1).
func (d *dice) share() float64 { return float64(d.next()>>11) / (1 << 53) }

// below returns 0..n-1; its bias of at most 2^-40 does not matter here.
func (d *dice) below(n int) int { return int(d.share() * float64(n)) }

// chance is true with the given parts in a million.
func (d *dice) chance(ppm uint32) bool { return d.share()*1e6 < float64(ppm) }

// wait is exponential: the gap to the next of a Poisson process.
func (d *dice) wait(mean float64) float64 { return -mean * math.Log(1-d.share()) }

// normal is a standard normal one (Box, Muller 1958).
func (d *dice) normal() float64 {
	r := math.Sqrt(-2 * math.Log(1-d.share()))
	return r * math.Cos(2*math.Pi*d.share())
}

// size is log-uniform: as many small ones as large ones on a scale of ratios.
func (d *dice) size(r Range) uint64 {
	least, most := math.Log(float64(r.Least)), math.Log(float64(r.Most)+1)
	return min(max(uint64(math.Exp(least+d.share()*(most-least))), r.Least), r.Most)
}
