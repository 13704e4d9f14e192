package effect

import (
	"fmt"
	"math"
	"slices"
)

// AllHarm is what a PoP shows about harm where all of its networks are treated as one, with one draw a group: ln of the evidence of
// HarmOf's bets, for each size, that a control block has the higher rate, the higher goodput over busy time, and the smaller share sent
// again. There is no second draw to confirm it, and no noise to estimate: levels of all networks move together, by day and by accident.
// So nothing but the draw is trusted, which is slow.
//
//	M = max(1, M) (1 + w (e - 1)),  e as in HarmOf
//
// Harm may begin at any time, and M that falls below 1 begins anew. The mean of such M reaches A within n groups with a probability of
// at most n/A if there is no harm (e-CUSUM: Shin, Ramdas and Rinaldo, as in HarmOf). Of 16 blocks one in which the control block is the
// fastest by far multiplies M by 12, the slowest by a quarter.
type AllHarm [3][len(betSizes)]float64

// Parts of AllHarm.
const (
	ofRate = iota
	ofGoodput
	ofLoss
)

// Next returns the evidence after one more pair.
func (h AllHarm) Next(p Pair) AllHarm {
	h.bet(ofRate, p)
	if g := ByGoodput([]Pair{p}); len(g) > 0 {
		h.bet(ofGoodput, g[0])
	}
	if p.sent() {
		l := Pair{C: byLoss(p.C)}
		for _, b := range p.T {
			if b.SentBytes > 0 {
				l.T = append(l.T, byLoss(b))
			}
		}
		h.bet(ofLoss, l)
	}
	return h
}

// byLoss puts what was not lost in the place of the rate.
func byLoss(b Block) Block {
	b.MeanLog = -math.Log(b.RetransShare() + lossFloor)
	return b
}

func (h *AllHarm) bet(part int, p Pair) {
	stake := fullStake * min(1, p.traffic()/float64(len(p.T)+1)/fullBlock)
	for i, m := range betSizes {
		h[part][i] = max(0, h[part][i]) + math.Log1p(stake*(p.bet(m)-1))
	}
}

// Brake reports whether the evidence pulls the brake, and returns the numbers in words: of harm, or of a cost that the last pairs show
// to be large and not to be paid for by the rate. groupSeconds is how long a group lasts.
func (h AllHarm) Brake(last []Pair, n Noise, groupSeconds int64) (pull bool, why string) {
	needed := 365 * 86400 / float64(groupSeconds) / brakePerYear
	harm := mean(slices.Concat(h[ofRate][:], h[ofGoodput][:]))
	if harm >= needed {
		return true, fmt.Sprintf("control blocks of the whole PoP are faster than treated ones (evidence of harm %.2g, needed %.2g)", harm, needed)
	}
	if cost := mean(h[ofLoss][:]); cost >= needed {
		if large, text := dear(last, n); large {
			return true, fmt.Sprintf("treated blocks of the whole PoP cost more than control blocks: %s (evidence %.2g, needed %.2g)", text, cost, needed)
		}
	}
	return false, ""
}

// mean of evidence given as ln.
func mean(logs []float64) (m float64) {
	for _, l := range logs {
		m += math.Exp(l) / float64(len(logs))
	}
	return m
}
