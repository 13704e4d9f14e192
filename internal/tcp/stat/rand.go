package stat

import "math/bits"

// Rand is PCG-XSH-RR 64/32: a linear congruential generator whose output is
// permuted by a shift and a rotation that its own top bits choose.
//
//	state' = 6364136223846793005 state + inc  (mod 2^64)
//
// It is here so that an interval depends only on its data and a seed, not on a release of Go.
// Source: O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms
// for Random Number Generation", HMC-CS-2014-0905.
type Rand struct{ state, inc uint64 }

// NewRand returns a generator; another stream is another sequence.
func NewRand(seed, stream uint64) *Rand {
	r := &Rand{inc: stream<<1 | 1}
	r.Uint32()
	r.state += seed
	r.Uint32()
	return r
}

// Uint32 returns 32 random bits.
func (r *Rand) Uint32() uint32 {
	old := r.state
	r.state = old*6364136223846793005 + r.inc
	return bits.RotateLeft32(uint32((old>>18^old)>>27), -int(old>>59))
}

// Index returns a number from 0 to n-1, all equally likely: the high half of a product,
// redrawing the few values that would come once too often. Source: Lemire, "Fast Random
// Integer Generation in an Interval", ACM TOMACS 29 (2019).
func (r *Rand) Index(n int) int {
	size := uint32(n)
	product := uint64(r.Uint32()) * uint64(size)
	if uint32(product) < size {
		for surplus := -size % size; uint32(product) < surplus; {
			product = uint64(r.Uint32()) * uint64(size)
		}
	}
	return int(product >> 32)
}

// Float64 returns a number in [0, 1) with 32 random bits.
func (r *Rand) Float64() float64 { return float64(r.Uint32()) / (1 << 32) }
