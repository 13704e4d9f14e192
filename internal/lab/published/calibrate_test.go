package published

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/lab/theory/model"
)

// The unknown loss of a path is the one at which the CUBIC model gives the
// published goodput. It uses only CUBIC's goodput, so that the models' value for BBR is a
// prediction.
//
// The mean of Cubic falls with the loss. Bisection is in the loss's logarithm, since
// goodput goes as a power of it.
const (
	leastLoss = 1e-7 // one packet in 15 GB: no transfer here would see it
	mostLoss  = 0.3  // beyond it no goodput is worth the name
	// halvings: 15 e-foldings to 2e-4 is finer than the models.
	halvings = 16
)

// calibrateLoss returns the share of packets that p must lose for CUBIC to carry t at
// goodput; p's own loss is ignored. 0 where CUBIC does not exceed goodput even without
// loss.
func calibrateLoss(p model.Path, t model.Transfer, goodputBitPerS float64) float64 {
	at := func(loss float64) float64 {
		p.Loss = loss
		return model.Cubic(p, t).Expected
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

func TestCalibrationRoundTrip(t *testing.T) {
	transfer := model.Transfer{Bytes: 40e6, Seconds: 60}
	line := func(rtt, loss float64) model.Path {
		return path(siteBitPerS, rtt, loss, max(100, siteBitPerS*rtt/8/1514))
	}
	for _, k := range []struct{ rtt, loss float64 }{{0.006, 0.02}, {0.099, 0.001}, {0.231, 0.004}} {
		p := line(k.rtt, 0.123) // calibration must not look at it
		goodput := model.Cubic(line(k.rtt, k.loss), transfer).Expected
		if got := calibrateLoss(p, transfer, goodput); math.Abs(got/k.loss-1) > 0.06 {
			t.Errorf("%+v: calibrated %.5g", k, got)
		}
	}
	if got := calibrateLoss(line(0.1, 0.5), transfer, 95e6); got != 0 {
		t.Errorf("more than CUBIC can: loss %g", got)
	}
}
