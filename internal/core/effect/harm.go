package effect

import (
	"fmt"
	"math"
)

// Cost as a reason to stop at once. Mild harm in speed stays unknown for hours, but
// retransmissions are known from thousands of packets a block:
//
//	retransmitted share T - retransmitted share C >= 2 points, and the rate is not 10 % higher

const (
	harmPoints = 0.02    // of sent bytes: what BBR adds on a path where it overruns the buffer
	rounding   = 1e-9    // 3 % - 1 % is a little less than 2 % in binary
	worthRate  = 1.10    // a rate gain that pays for it
	harmBytes  = 1500000 // sent in each arm: some 1,000 packets, so that two points are 20 packets
)

// FastHarm reports whether the pairs given (the last one, or those of a trial) show
// the cost without the gain, and why. Rates are judged in favour of the treatment, by
// the estimate plus one standard error: from one pair alone it is a coarse number.
func FastHarm(pairs []Pair, n Noise) (harm bool, why string) {
	var t, c Block
	for _, p := range pairs {
		if p.Usable() {
			t, c = t.Join(p.T), c.Join(p.C)
		}
	}
	rate, se := estimate(pairs, n)
	more := t.RetransShare() - c.RetransShare()
	if min(t.SentBytes, c.SentBytes) < harmBytes || more < harmPoints-rounding || rate+se >= math.Log(worthRate) {
		return false, ""
	}
	return true, fmt.Sprintf("retransmits %.1f %% instead of %.1f %%, rate x %.2f",
		100*t.RetransShare(), 100*c.RetransShare(), math.Exp(rate))
}

// estimate is the mean difference, weighted by precision, and its standard error.
func estimate(pairs []Pair, n Noise) (mean, se float64) {
	var s, i float64
	for _, p := range pairs {
		if p.Usable() {
			s += p.LogRatio() / n.Var(p)
			i += 1 / n.Var(p)
		}
	}
	return s / i, 1 / math.Sqrt(i)
}
