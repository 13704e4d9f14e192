package effect

// Noise is how much the logarithm of a rate varies with no treatment at all, as
// standard deviations: between blocks of one arm (the level drifts) and between
// connections of one block.
//
//	Var(difference) = Block^2 (1/blocks T + 1/blocks C) + Conn^2 (1/connections T + 1/connections C)
//
// With one control block and a share P of treatment blocks, 1/blocks T + 1/blocks C =
// (1-P)/P + 1 = 1/P. That asks for blocks of about the same size, and for levels that
// are independent from block to block; docs/effect.md has what is lost where they are not.
type Noise struct {
	Block, Conn float64

	// Freedom says how well this fits one prefix: its own variance is taken to differ from
	// Var as an estimate from so many observations would. 0: it fits exactly.
	Freedom float64
}

// DefaultNoise is what the simulated city has (docs/effect.md): 0.2 of ln rate between
// blocks, a fifth up or down, and 0.66 between connections of a block, a factor of two.
// It is known there, and guessed elsewhere: decide by EstimateNoise.
var DefaultNoise = Noise{Block: 0.2, Conn: 0.66}

// Var is the variance of the pair's difference under no effect.
func (n Noise) Var(p Pair) float64 {
	return n.Block*n.Block/p.share() + n.Conn*n.Conn*(1/float64(p.T.N)+1/float64(p.C.N))
}
