package effect

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Noise is how much the logarithm of a rate varies with no treatment at all, as
// standard deviations: between blocks of one arm (the level drifts) and between
// connections of one block.
//
//	Var(difference) = (Block^2 + Conn^2 m) / P,  m = mean over all blocks of 1/connections
//
// It is the variance over which of the blocks is the control block: with one of them and a share P
// of treatment blocks, 1/blocks T + 1/blocks C = (1-P)/P + 1 = 1/P. A variance by the connections
// that this control block has would weigh pairs by their outcome where load and level move
// together. Levels are taken to be independent from block to block; docs/effect.md has the loss
// where they are not.
type Noise struct {
	Block, Conn float64

	// Freedom is how well this fits one prefix: its own variance may differ from Var as much as an
	// estimate from that many observations would. 0: it fits exactly.
	Freedom float64
}

// DefaultNoise is that of the simulated city (docs/effect.md): 0.2 of ln rate between blocks, a
// fifth up or down, and 0.66 between connections of a block, a factor of two. It is known
// there, and a guess elsewhere: decide by EstimateNoise.
var DefaultNoise = Noise{Block: 0.2, Conn: 0.66}

// Var returns the variance of the pair's difference under no effect.
func (n Noise) Var(p Pair) float64 {
	each := 1 / float64(p.C.N)
	for _, b := range p.T {
		each += 1 / float64(b.N)
	}
	return (n.Block*n.Block + n.Conn*n.Conn*each/float64(len(p.T)+1)) / p.Share()
}

// The noise, learnt from pairs. Between connections: the spread within blocks. Between blocks:
// the difference of a prefix's successive pairs, in which its effect, whatever it is, cancels
// (von Neumann, Annals of Mathematical Statistics 12, 1941):
//
//	Var(d2 - d1) = Block^2 (1/P1 + 1/P2) + Conn^2 (...)
//
// Each is the v for which the squares, divided by the variance under v, are as large as a
// normal's when those beyond a bound count as the bound (Huber, Robust Statistics, 1981,
// proposal 2): one outage among fifty pairs does not hide an effect for a day.
//
//	mean of min(z^2, 4) = 0.9205 between blocks, of min(z^2, 9) = 0.9950 within
//
// Within blocks a square is a mean over connections, so it is seldom large, and the bound must
// be far out: cut at 4, blocks of many connections would never reach 0.92.
//
// With few pairs the estimate is little more than chance, so the default counts as some.

const (
	clipBetween, meanBetween = 4.0, 0.92054 // two standard deviations
	clipWithin, meanWithin   = 9.0, 0.99501 // three
	// priorBlocks, priorConns: how many differences and connections the default counts for. 20
	// differences determine a standard deviation to 16 %, 100 connections to 7 %.
	priorBlocks, priorConns = 20, 100
	// freedom: a prefix's variance is then within a factor of two of the others' for 95 % of
	// prefixes. Of mobile networks with twice the city's drift a fifth crossed a bound that trusts
	// the common variance, 5 to 9 % this one; it costs an hour (docs/effect.md).
	freedom = 20
)

// square is one squared distance with what its variance is made of: fixed + v slope.
type square struct{ x2, fixed, slope, weight float64 }

// EstimateNoise learns the noise from the pairs of many prefixes, each prefix's in time order.
func EstimateNoise(pairs []Pair) Noise {
	w := within(pairs)
	conn := shrunk(DefaultNoise.Conn, priorConns, weight(w), solve(w, clipWithin, meanWithin))
	b := between(pairs, conn)
	block := shrunk(DefaultNoise.Block, priorBlocks, weight(b), solve(b, clipBetween, meanBetween))
	return Noise{Block: block, Conn: conn, Freedom: freedom}
}

// within has the spread of each block's connections, N-1 of them free.
func within(pairs []Pair) (list []square) {
	for _, p := range pairs {
		for _, b := range append(p.T[:len(p.T):len(p.T)], p.C) {
			if free := float64(b.N - 1); free > 0 {
				list = append(list, square{x2: b.VarLog * float64(b.N) / free, slope: 1, weight: free})
			}
		}
	}
	return list
}

// between has the differences of successive pairs.
func between(pairs []Pair, conn float64) (list []square) {
	last := map[record.Prefix]Pair{}
	for _, p := range pairs {
		if !p.Usable() {
			continue
		}
		if q, ok := last[p.Prefix]; ok {
			d, n := p.LogRatio()-q.LogRatio(), Noise{Conn: conn}
			list = append(list, square{x2: d * d, fixed: n.Var(p) + n.Var(q), slope: 1/p.Share() + 1/q.Share(), weight: 1})
		}
		last[p.Prefix] = p
	}
	return list
}

// shrunk returns the standard deviation for a variance v from that many observations, pulled to
// the default as by a prior number of them.
func shrunk(byDefault, prior, seen, v float64) float64 {
	return math.Sqrt((prior*byDefault*byDefault + seen*v) / (prior + seen))
}

func weight(list []square) (sum float64) {
	for _, s := range list {
		sum += s.weight
	}
	return sum
}

// solve finds v by bisection; the mean falls with it.
func solve(list []square, clip, mean float64) float64 {
	low, high, want := 0.0, 100.0, mean*weight(list)
	for range 60 {
		v, sum := (low+high)/2, 0.0
		for _, s := range list {
			sum += s.weight * min(clip, s.x2/(s.fixed+v*s.slope))
		}
		if sum > want {
			low = v
		} else {
			high = v
		}
	}
	return low
}
