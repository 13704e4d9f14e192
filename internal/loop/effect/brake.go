package effect

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// The brake: harm on the whole.
//
// If the treatment does nothing, which of a group's k blocks is the control block is chance, and
// nothing else is. So bet on it, group by group: that the control block is the fast one. With y the
// blocks' means of ln rate and c the control block,
//
//	e = k exp(m y_c) / sum(exp(m y_j))
//
// is 1 on average over the draw, whatever the y are: a level that drifts, load that moves with it,
// a shock that all networks share, heavy tails. Nothing is estimated. (Of two blocks e is
// 1 - tanh(m d / 2), d = treatment - control.) One draw decides for all networks, so their bets of
// one group are one bet, the mean over sites, each with its stake; where few sites are treated, as
// many others as it takes bet nothing, so that harm in one place is not harm on the whole. All networks
// that are treated as one (record.All) are the whole by themselves. A group stakes a part w of what was won so far,
//
//	M = max(1, M) (1 + w (mean of e - 1))
//
// M grows where networks are harmed on average; effects that cancel do not make it grow. Harm may
// begin at any time, so what falls below 1 begins anew. While the treatment does nothing, the mean of M after
// n groups is at most n (e-CUSUM: Shin, Ramdas and Rinaldo, "E-detectors", New England Journal of Statistics in
// Data Science 2, 2024), and so is that of any average of such M. There is one for each outcome, the rate and goodput over
// busy time, and each of a few bet sizes m, since the size of the harm is unknown. Trials have groups of two blocks, the others
// longer ones, and the control block of the whole PoP is in both; so each kind has its own M, judged by what a year of its groups may
// reach by chance:
//
//	E = (M of trials / n of trials + M of others / n of others) / 2,  n = groups in a year
//
// is at most 1 on average, and so 20 in a year in at most one of twenty.
//
// What networks showed stays when they leave: where each of a few leaves by its own evidence, the next ones would be tried in vain.
//
// The price is time: of harm by half to all a group of two blocks says a factor of 1.75, and 26 to 28 of
// them, nine hours, pull the brake; one of 16 blocks says a factor of 10, and six of them, 16 hours, do. Before that, each network
// has left by what it shows itself (loop/policy).
//
// With all networks treated as one the same bets are made on losses, and end what costs without a gain: no other exit would.

const (
	// brakePerYear is the chance of a false brake in a year.
	brakePerYear = 0.05
	year         = 365 * 86400 // seconds

	// fullStake bounds what one group can say: of two blocks a factor of 1.75 for harm, 0.25 against.
	// fullBlock is how many connections in a block it takes: the means of smaller ones are noise.
	fullStake, fullBlock = 0.75, 10

	// fewestSites: harm in two places is not harm on the whole.
	fewestSites = 3
)

// betSizes are m, per ln rate: the first for harm to some of many or of a tenth, the last for a
// plain half.
var betSizes = [...]float64{2, 6}

// Harm is what the groups so far say about harm on the whole: ln of M, by outcome, kind of group (of two blocks that saw a connection,
// of more) and size.
type Harm struct {
	Until int64                            `json:"until_unix_s"` // end of the last group in it
	LogM  [3][kinds][len(betSizes)]float64 `json:"ln_won"`
}

const kinds = 2

// outcomes are what is compared, each with its pairs' values in the place of the rate: the rate, goodput and what was not lost.
var outcomes = [...]func([]Pair) []Pair{func(pairs []Pair) []Pair { return pairs }, ByGoodput, byLoss}

// ofLoss is the last of the outcomes.
const ofLoss = 2

// Next takes in the pairs of all networks, in any order, whose groups have ended since.
func (h Harm) Next(all []Pair) Harm {
	var pairs []Pair
	for _, p := range all {
		if p.Usable() && p.End > h.Until {
			pairs = append(pairs, p)
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Prefix, b.Prefix))
	})
	for len(pairs) > 0 {
		n := 1
		for n < len(pairs) && pairs[n].drawnAt() == pairs[0].drawnAt() {
			n++
		}
		h.bet(pairs[:n])
		h.Until, pairs = pairs[0].End, pairs[n:]
	}
	return h
}

// bet takes in the pairs of one draw.
func (h *Harm) bet(pairs []Pair) {
	fewest, kind := float64(fewestSites), 0
	if i := slices.IndexFunc(pairs, func(p Pair) bool { return p.Prefix == record.All }); i >= 0 {
		pairs, fewest = pairs[i:i+1], 0
	}
	if slices.ContainsFunc(pairs, func(p Pair) bool { return len(p.T) > 1 }) {
		kind = 1
	}
	for i, of := range outcomes {
		won, stake := betTogether(of(pairs))
		for m := range betSizes {
			if stake > 0 {
				h.LogM[i][kind][m] = max(0, h.LogM[i][kind][m]) + math.Log1p(fullStake*won[m]/max(stake, fewest, 1))
			}
		}
	}
}

// betTogether returns, of the pairs of one draw, the sum of stake times e - 1 by size, and that of the stakes.
func betTogether(pairs []Pair) (won [len(betSizes)]float64, stake float64) {
	site, networks := sites(pairs), map[record.Prefix]int{}
	for _, p := range pairs {
		networks[site[p.Prefix]]++
	}
	for _, p := range pairs {
		w := min(1, p.traffic()/float64(len(p.T)+1)/fullBlock) / float64(networks[site[p.Prefix]])
		stake += w
		for i, m := range betSizes {
			won[i] += w * (p.bet(m) - 1)
		}
	}
	return won, stake
}

// Brake reports whether the evidence pulls the brake, and returns it in words: of harm, or, where all networks are treated as one, of a
// cost that their last pairs show to be large and not to be paid for by the rate. seconds is how long a group of each kind lasts.
func (h Harm) Brake(seconds [kinds]int64, ofAll []Pair, n Noise) (pull bool, why string) {
	harm, cost := h.Evidence(seconds)
	if harm >= 1/brakePerYear {
		return true, fmt.Sprintf("control blocks are faster than treated ones (evidence of harm %.2g, needed %g)", harm, 1/brakePerYear)
	}
	if len(ofAll) > 0 && cost >= 1/brakePerYear {
		if large, text := dear(ofAll, n); large {
			return true, fmt.Sprintf("treated blocks cost more than control blocks: %s (evidence %.2g, needed %g)", text, cost, 1/brakePerYear)
		}
	}
	return false, ""
}

// Evidence returns E of harm, and of cost. seconds is how long a group of each kind lasts.
func (h Harm) Evidence(seconds [kinds]int64) (harm, cost float64) {
	for kind, s := range seconds {
		years := float64(s) / year / kinds
		harm += mean(slices.Concat(h.LogM[0][kind][:], h.LogM[1][kind][:])) * years
		cost += mean(h.LogM[ofLoss][kind][:]) * years
	}
	return harm, cost
}

// mean of evidence given as ln.
func mean(logs []float64) (m float64) {
	for _, l := range logs {
		m += math.Exp(l) / float64(len(logs))
	}
	return m
}

// byLoss puts what was not lost in the place of the rate.
func byLoss(pairs []Pair) (list []Pair) {
	value := func(b Block) Block {
		b.MeanLog = -math.Log(b.RetransShare() + lossFloor)
		return b
	}
	for _, p := range pairs {
		if !p.sent() {
			continue
		}
		l := Pair{Prefix: p.Prefix, C: value(p.C)}
		for _, b := range p.T {
			if b.SentBytes > 0 {
				l.T = append(l.T, value(b))
			}
		}
		list = append(list, l)
	}
	return list
}

// bet returns e for a size.
func (p Pair) bet(m float64) float64 {
	sum := 1.0
	for _, t := range p.T {
		sum += math.Exp(m * (t.MeanLog - p.C.MeanLog))
	}
	return float64(len(p.T)+1) / sum
}

// sites returns each prefix's site, whose networks count together as one. An edge whose networks lie in fewer than fewestSites, as one of
// a single town may, could never brake: there each /24 counts for itself.
func sites(pairs []Pair) map[record.Prefix]record.Prefix {
	site, all := map[record.Prefix]record.Prefix{}, map[record.Prefix]bool{}
	for _, p := range pairs {
		s := p.Prefix.Site()
		site[p.Prefix], all[s] = s, true
	}
	if len(all) < fewestSites {
		for p := range site {
			if p>>32 == 0 {
				site[p] = p
			}
		}
	}
	return site
}
