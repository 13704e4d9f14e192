package effect

import (
	"fmt"
	"math"
)

// A benefit that fades: has a prefix lost what it showed? For a benefit b, the evidence of the pairs
// since some start against it is the likelihood of an effect of a over that of b, with the same
// unknown variance in both as in Judge, a being 0 or -b with even odds:
//
//	E(a) = ((v + sum((d-b)^2/V)) / (v + sum((d-a)^2/V)))^((v+n)/2),  E = (E(0) + E(-b)) / 2
//
// E(0) is exp(sum(b (b/2 - d)/V)) for large v. While the effect is b or more, E reaches A with a chance
// of at most 1/A, and from any of n starts with at most n/A (as in brake.go). It may have faded
// at any time, so the start that shows it best counts. b is the lower bound of the pairs before that
// start, which holds whatever luck promoted the prefix, and at least leastBenefit: a large benefit is
// missed after one pair or two, a small one after six.

const (
	// leastBenefit, ln of rate: what a prefix is kept for. Effects above its half, x 1.22, stay.
	leastBenefit = 0.405 // ln 1.5
	// neededToDoubt is E. A promoted prefix has 18 pairs a day; on average one in twenty-five goes back
	// on trial in three days though nothing faded. 150 would be three times what six pairs a day
	// needed, and find 59 of 100 lost benefits of 1.5 x in TestFaded, where 120 finds 61.
	neededToDoubt = 120
)

// Faded reports whether the last of the pairs, which are in time order, show no benefit any more, and why.
func Faded(pairs []Pair, n Noise) (faded bool, why string) {
	for start := len(pairs) - 1; start >= 0 && !faded; start-- {
		b := max(leastBenefit, Judge(pairs[:start], n).Low)
		if logEFaded(pairs[start:], b, n) >= math.Log(neededToDoubt) {
			faded, why = true, fmt.Sprintf("rate x %.2f in the last %d of %d pairs: no benefit, where it was x %.2f or more",
				math.Exp(Judge(pairs[start:], n).LogRatio), len(pairs)-start, len(pairs), math.Exp(b))
		}
	}
	return faded, why
}

// logEFaded returns ln of the evidence against a benefit.
func logEFaded(pairs []Pair, benefit float64, n Noise) float64 {
	none, harm := logLikelihood(pairs, 0, n), logLikelihood(pairs, -benefit, n)
	top := max(none, harm)
	return top + math.Log((math.Exp(none-top)+math.Exp(harm-top))/2) - logLikelihood(pairs, benefit, n)
}

// logLikelihood returns that of an effect, less what is the same for all effects.
func logLikelihood(pairs []Pair, at float64, n Noise) float64 {
	var count, squares float64
	for _, p := range pairs {
		if v := n.Var(p); p.Usable() && v > 0 {
			off := p.LogRatio() - at
			count, squares = count+1, squares+off*off/v
		}
	}
	if n.Freedom == 0 {
		return -squares / 2
	}
	return -(n.Freedom + count) / 2 * math.Log(n.Freedom+squares)
}
