package model

import "math"

// Calibration: the loss of a path that nobody measured is the one that makes the CUBIC
// model give the goodput that somebody published. Only CUBIC's goodput is asked for, so
// that what the models then say of BBR is a prediction.
//
// The mean of Cubic falls with the loss. Bisection is in the loss's logarithm, since
// goodput goes as a power of it.
const (
	leastLoss = 1e-7 // one packet in 15 GB: no transfer here would see it
	mostLoss  = 0.3  // beyond it no goodput is worth the name
	// halvings: 15 e-foldings to 2e-4 is finer than the models.
	halvings = 16
)

// CalibrateLoss gives the share of packets that p must lose for CUBIC to carry t at
// goodput; p's own loss is ignored. 0 where CUBIC does not exceed goodput even without
// loss.
func CalibrateLoss(p Path, t Transfer, goodputBitPerS float64) float64 {
	at := func(loss float64) float64 {
		p.Loss = loss
		return expectedCubic(p, t)
	}
	if at(0) <= goodputBitPerS {
		return 0
	}
	low, high := math.Log(leastLoss), math.Log(mostLoss)
	for range halvings {
		mid := (low + high) / 2
		if at(math.Exp(mid)) > goodputBitPerS {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Exp((low + high) / 2)
}
