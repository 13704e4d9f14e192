package effect

import (
	"fmt"
	"math"
)

// Watch: what a network's treated blocks say by themselves, between two control blocks. With y the means
// of k treated blocks so far, m their mean and V = Block^2 + Conn^2/connections of each,
//
//	f = max(1, (v + sum((y-m)^2/V)) / (v + k-1)),  v = Noise.Freedom
//
// is how much more this network's blocks spread than others', as in Judge, the hours of the day included.
// A later treated block with the mean z is suspicious if
//
//	m - z >= leastDrop  and  m - z >= suspicious sqrt(f (V + sum(V)/k^2))
//
// That is no evidence against the benefit, since the level may have fallen as well, of this network or of
// all. So it ends nothing and only asks for control blocks, which can tell. A fall that all networks share
// counts too: what ends the effect of one may end that of all on the same day.

const (
	// leastDrop, ln of rate, a fifth: less is not worth a trial, however exactly it is known.
	leastDrop = 0.25
	// suspicious, standard errors. With 2, every second network with a lasting benefit is suspected
	// each day, since levels swing and drift, and half of the gain of fewer control blocks is lost
	// twice over; with 3.5, one in thirty was in blocks of 30 min, of which there are three times as many now, and most lost
	// benefits of 2 x showed in the first block.
	suspicious = 3.7
	// evident, standard deviations of a treated block: a benefit as large as that is missed when it is lost. Of
	// smaller ones a single block says little, and they keep the control blocks that tell.
	evident = 2.5
)

// Watch is what is usual of a network's treated blocks.
type Watch struct {
	blocks       int
	mean         float64 // ln of rate
	each, ofMean float64 // variances: of a block such as these, and of the mean
	factor       float64 // f
	noise        Noise
}

// WatchOf returns what the blocks so far make usual; ok is false for fewer than two.
func WatchOf(blocks []Block, n Noise) (w Watch, ok bool) {
	if len(blocks) < 2 {
		return w, false
	}
	k, squares := float64(len(blocks)), 0.0
	w.blocks, w.noise = len(blocks), n
	for _, b := range blocks {
		w.mean, w.each = w.mean+b.MeanLog/k, w.each+n.ofBlock(b)/k
	}
	for _, b := range blocks {
		squares += (b.MeanLog - w.mean) * (b.MeanLog - w.mean) / n.ofBlock(b)
	}
	w.ofMean = w.each / k
	w.factor = max(1, (n.Freedom+squares)/(n.Freedom+k-1))
	return w, true
}

// ofBlock returns the variance of a block's mean.
func (n Noise) ofBlock(b Block) float64 { return n.Block*n.Block + n.Conn*n.Conn/float64(b.N) }

// Suspicious reports whether a treated block is slower than is usual, and in words.
func (w Watch) Suspicious(b Block) (yes bool, why string) {
	drop, se := w.mean-b.MeanLog, math.Sqrt(w.factor*(w.noise.ofBlock(b)+w.ofMean))
	if drop < leastDrop || drop < suspicious*se {
		return false, ""
	}
	return true, fmt.Sprintf("its last treated block has x %.2f of the rate of the %d before, %.1f standard errors less: the benefit may be lost",
		math.Exp(-drop), w.blocks, drop/se)
}

// Shows reports whether the loss of a benefit, ln of rate, would show in a treated block.
func (w Watch) Shows(benefit float64) bool { return benefit >= evident*math.Sqrt(w.factor*w.each) }
