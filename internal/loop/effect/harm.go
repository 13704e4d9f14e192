package effect

import (
	"fmt"
	"math"
)

// Cost as a reason to stop at once. Mild harm in speed stays unknown for hours, but
// retransmissions are known from thousands of packets per block:
//
//	retransmitted share T - retransmitted share C >= 2 points, and the rate is not 10 % higher

const (
	harmPoints = 0.02    // of sent bytes: what BBR adds on a path where it overruns the buffer
	rounding   = 1e-9    // 3 % - 1 % is a little less than 2 % in binary
	worthRate  = 1.10    // a rate gain that pays for it
	harmBytes  = 1500000 // sent in each arm: some 1,000 packets, so that two points are 20 packets
)

// FastHarm reports whether the given pairs (the last one, or those of a trial) show the cost
// without the gain, and why. Rates are judged in favour of the treatment, by the estimate plus
// one standard error: from one pair alone it is coarse.
func FastHarm(pairs []Pair, n Noise) (harm bool, why string) {
	var sentT, sentC, againT, againC float64
	for _, p := range pairs {
		if p.Usable() {
			t, c := float64(p.Treated().SentBytes), float64(p.C.SentBytes)
			shareT, shareC := p.RetransShares()
			sentT, sentC, againT, againC = sentT+t, sentC+c, againT+t*shareT, againC+c*shareC
		}
	}
	rate, se := estimate(pairs, n)
	if min(sentT, sentC) < harmBytes || againT/sentT-againC/sentC < harmPoints-rounding || rate+se >= math.Log(worthRate) {
		return false, ""
	}
	return true, fmt.Sprintf("retransmits %.1f %% instead of %.1f %%, rate x %.2f",
		100*againT/sentT, 100*againC/sentC, math.Exp(rate))
}

// estimate returns the mean difference, weighted by precision, and its standard error.
func estimate(pairs []Pair, n Noise) (mean, se float64) {
	var s sums
	for _, p := range pairs {
		s.add(p, n)
	}
	return s.s / s.i, 1 / math.Sqrt(s.i)
}
