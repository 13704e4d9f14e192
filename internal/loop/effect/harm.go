package effect

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Cost as a reason to stop at once. Mild harm in speed stays unknown for hours, but
// retransmissions are known from thousands of packets per block:
//
//	retransmitted share T - retransmitted share C >= 2 points, more than chance, and the rate is
//	not 10 % higher
//
// More than chance: loss differs from block to block with no treatment at all, by a factor rather
// than by points. So with z = ln(share + 1 %) of a block and u = mean z of T - z of C,
//
//	Var(u) = Loss^2 / P
//
// with P as in Noise, and Loss learnt from the pairs of all networks. The evidence of a rise is
// that of Judge, with u for d; 100 is reached by chance in at most one trial of a hundred.

// Loss is the standard deviation of z between a network's blocks.
type Loss float64

const (
	harmPoints = 0.02    // of sent bytes: what BBR adds on a path where it overruns the buffer
	rounding   = 1e-9    // 3 % - 1 % is a little less than 2 % in binary
	worthRate  = 1.10    // a rate gain that pays for it
	harmBytes  = 1500000 // sent in each arm: some 1,000 packets, so that two points are 20 packets

	// lossFloor is added to a share: between 0.01 % and 0.1 % lies a factor of ten and no cost.
	lossFloor = 0.01
	// DefaultLoss: shares that spread by a factor of two about 1 or 2 %.
	DefaultLoss Loss = 0.4
	// chanceOfCost is that of ever calling a trial costly where nothing is done.
	chanceOfCost = 0.01
	// lossFreedom: networks differ more in how loss spreads than in how rates do. Of those that
	// spread by 1.0 of ln among others of 0.3, 8 % were called costly with 20 degrees.
	lossFreedom = 10
)

// EstimateLoss learns the spread from the differences of successive pairs, in which a lasting cost
// cancels. Each prefix's pairs are in time order.
func EstimateLoss(pairs []Pair) Loss {
	last := map[record.Prefix]Pair{}
	var list []square
	for _, p := range pairs {
		if !p.sent() {
			continue
		}
		if q, ok := last[p.Prefix]; ok {
			d := p.logLoss() - q.logLoss()
			list = append(list, square{x2: d * d, slope: 1/p.Share() + 1/q.Share(), weight: 1})
		}
		last[p.Prefix] = p
	}
	return Loss(shrunk(float64(DefaultLoss), priorBlocks, weight(list), solve(list, clipBetween, meanBetween)))
}

// FastHarm reports whether the given pairs (the last ones, or those of a trial) show the cost
// without the gain, and why. Rates are judged in favour of the treatment, by the estimate plus
// a quarter of its standard error: from one pair alone it is coarse.
func FastHarm(pairs []Pair, n Noise, l Loss) (harm bool, why string) {
	rise := sums{freedom: lossFreedom}
	for _, p := range pairs {
		if p.sent() {
			v := float64(l*l) / p.Share()
			u := p.logLoss()
			rise.pairs, rise.s, rise.i, rise.q = rise.pairs+1, rise.s+u/v, rise.i+1/v, rise.q+u*u/v
		}
	}
	if rise.pairs == 0 || rise.logE(1) < -math.Log(chanceOfCost) {
		return false, ""
	}
	return dear(pairs, n)
}

// dear reports whether the cost is large, by chance or not, and the gain does not pay for it.
func dear(pairs []Pair, n Noise) (yes bool, why string) {
	var shareT, shareC, count float64
	for _, p := range pairs {
		if p.sent() {
			t, c := p.RetransShares()
			shareT, shareC, count = shareT+t, shareC+c, count+1
		}
	}
	if count == 0 {
		return false, ""
	}
	shareT, shareC = shareT/count, shareC/count
	rate, se := estimate(pairs, n)
	if shareT-shareC < harmPoints-rounding || rate+se/4 >= math.Log(worthRate) {
		return false, ""
	}
	return true, fmt.Sprintf("retransmits %.1f %% instead of %.1f %%, rate x %.2f", 100*shareT, 100*shareC, math.Exp(rate))
}

// sent reports whether each arm sent enough to have a share.
func (p Pair) sent() bool {
	return p.Usable() && min(p.Treated().SentBytes, p.C.SentBytes) >= harmBytes
}

// logLoss returns u, of the treatment blocks that sent.
func (p Pair) logLoss() float64 {
	sum, n := 0.0, 0.0
	for _, b := range p.T {
		if b.SentBytes > 0 {
			sum, n = sum+math.Log(b.RetransShare()+lossFloor), n+1
		}
	}
	return sum/n - math.Log(p.C.RetransShare()+lossFloor)
}

// estimate returns the mean difference, weighted by precision, and its standard error.
func estimate(pairs []Pair, n Noise) (mean, se float64) {
	var s sums
	for _, p := range pairs {
		s.add(p, n)
	}
	return s.s / s.i, 1 / math.Sqrt(s.i)
}
