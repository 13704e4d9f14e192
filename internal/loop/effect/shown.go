package effect

import (
	"cmp"
	"math"
	"slices"
)

// Benefit shown: of which networks it may be claimed that the treatment helps them.
//
// If the treatment does nothing, which of a group's k blocks is the control block is chance, and nothing else is. So bet, pair by pair, that
// it is the slow one. With y the blocks' means of ln rate, c the control block, and s² what such a mean varies by,
//
//	e = k exp(-m y_c) / sum(exp(-m y_j)),  m = theta / s²
//
// is 1 on average over the draw whatever the y are, as in Harm. Where they are normal it is the likelihood ratio of the effect theta, so
// none grows faster. The product over pairs, mixed over a few theta, is a network's evidence E: it reaches 1/a with a probability of at
// most a if the treatment does nothing. A wrong s² costs time, not truth; so it is DefaultNoise's, which no pair has a say in.
//
// Of many networks some have luck. Of K in descending order the first k count as shown, with the largest k for which E(k) >= K / (a k):
// of those shown at most a share a is not, on average, however they depend on each other (e-BH: Wang and Ramdas, "False Discovery Rate
// Control with E-values", JRSS B 84, 2022).
//
// What it does not see: a line that networks share, on which a treated one gains what its neighbour loses. Kappa does (loop/policy).

// benefitSizes are theta, in ln rate: 1.2 x, 1.5 x and 2.5 x.
var benefitSizes = [...]float64{0.18, 0.4, 0.9}

// LogBenefit returns ln of the evidence that the treatment helps the network whose pairs these are; 0 without pairs.
func LogBenefit(pairs []Pair) float64 {
	var logs [len(benefitSizes)]float64
	for _, p := range pairs {
		if !p.Usable() {
			continue
		}
		variance := DefaultNoise.Var(p) * p.Share() // of one block's mean, the same whichever is the control block
		for i, theta := range benefitSizes {
			logs[i] += math.Log(p.bet(-theta / variance))
		}
	}
	most := slices.Max(logs[:])
	if most <= leastLogE {
		return leastLogE
	}
	for i := range logs {
		logs[i] -= most // its exponential could leave the range of numbers
	}
	return max(leastLogE, most+math.Log(mean(logs[:])))
}

// UntilShown returns for each ln of evidence by which factor all of them must grow until its benefit counts as shown: at most 1 if it is;
// +Inf where the evidence speaks against it. ln of evidence grows in proportion to time while all goes on as it did.
func UntilShown(logE []float64) []float64 {
	order := make([]int, len(logE))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(logE[a], logE[b]) })
	factors, least := make([]float64, len(logE)), math.Inf(1)
	for j, i := range order { // from the smallest on: the k-th largest is shown with all that are larger
		if k := len(order) - j; logE[i] > 0 {
			least = min(least, math.Log(float64(len(order))/(Alpha*float64(k)))/logE[i])
		}
		factors[i] = least
	}
	return factors
}
