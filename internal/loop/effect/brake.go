package effect

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// The brake: harm on the whole, of the networks that are treated now.
//
// If the treatment does nothing, which of a group's k blocks is the control block is chance, and
// nothing else is. So bet on it, group by group: that the control block is the fast one. With y the
// blocks' means of ln rate and c the control block,
//
//	e = k exp(m y_c) / sum(exp(m y_j))
//
// is 1 on average over the draw, whatever the y are: a level that drifts, load that moves with it,
// a shock that all networks share, heavy tails. Nothing is estimated. (Of two blocks e is
// 1 - tanh(m d / 2), d = treatment - control.) One draw decides for all networks (beside select: all, listed ones have their own, and a mean of
// e-values is one all the same), so their bets of one group are one bet, the mean over
// sites, each with its stake; where few sites are treated, as many others as it takes bet nothing, so that harm in one place is not harm
// on the whole. A group stakes a part w of what was won so far,
//
//	M = product over groups of (1 + w (mean of e - 1))
//
// M is a martingale while the treatment does nothing. Where pairs are harmed on average, it grows; effects that cancel do not make it
// grow. A few bet sizes m are mixed, since the size of the harm is unknown; and trials have groups of two blocks, the others longer
// ones, and the control block of all is in both, so each kind has its own M, and the mean of the two counts.
//
// Harm may begin at any time. So M is taken from the start that shows it best, and the chance that
// it ever reaches A in n such starts is at most n/A (Shiryaev and Roberts; as e-values Shin, Ramdas
// and Rinaldo, "E-detectors", New England Journal of Statistics in Data Science 2, 2024). A pair
// that ages out takes a start away, and so can only lower M: what is old never pulls the brake.
//
// It is asked twice. Of the networks that are treated now, any three sites may show the harm. Of all that
// were treated in a day, also of those that left, half of the sites must: where each of a few networks
// leaves by its own evidence, none is left to show the harm together, and the next ones would be tried
// in vain.
//
// The price is time: of harm by half to all a pair of two blocks says no more than a factor of 1.75, and 30 of
// them, ten hours, pull the brake; of 16 blocks a day says too little. Before that, each network has left by what it shows itself (loop/policy).

const (
	// brakePerYear is the chance of a false brake in a year, brakeStarts how many blocks a year has,
	// brakeQuestions what is asked in each.
	brakePerYear, brakeStarts, brakeQuestions = 0.05, 365 * 144, 2

	// fullStake bounds what one group can say: of two blocks a factor of 1.75 for harm, 0.25 against.
	// fullBlock is how many connections in a block it takes: the means of smaller ones are noise.
	fullStake, fullBlock = 0.75, 10

	// fewestSites: harm in two places is not harm on the whole.
	fewestSites = 3
)

// betSizes are m, per ln rate: the first for harm to some of many or of a tenth, the last for a
// plain half.
var betSizes = [...]float64{2, 6}

// neededToBrake is ln of the M that pulls the brake: 2,102,400.
var neededToBrake = math.Log(brakeQuestions * brakeStarts / brakePerYear)

// Harm is what pairs of many networks say about harm on the whole.
type Harm struct {
	Pairs, Prefixes, Sites int
	LogRatio               float64 // mean of ln(treatment / control), weighed by stakes
	LogM                   float64 // ln of the evidence; 0 without pairs
}

// HarmOf judges pairs, in any order; those of one group have one draw. At least a share of their sites must show the harm.
func HarmOf(all []Pair, share float64) (h Harm) {
	pairs := usable(all)
	slices.SortFunc(pairs, func(a, b *Pair) int {
		return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Prefix, b.Prefix))
	})
	site := sites(pairs)
	places := map[record.Prefix]bool{}
	for _, s := range site {
		places[s] = true
	}
	fewest := max(fewestSites, share*float64(len(places)))
	seen, where := map[record.Prefix]bool{}, map[record.Prefix]bool{}
	var won [2][len(betSizes)]float64
	moved, stakes := 0.0, 0.0
	for i := 0; i < len(pairs); {
		n, kind := i, 0
		for ; n < len(pairs) && pairs[n].drawnAt() == pairs[i].drawnAt(); n++ {
			seen[pairs[n].Prefix], where[site[pairs[n].Prefix]] = true, true
			if len(pairs[n].T) > 1 {
				kind = 1
			}
		}
		e, stake, ratio := betTogether(pairs[i:n], site)
		for m := range betSizes {
			won[kind][m] += math.Log1p(fullStake * e[m] / max(stake, fewest))
		}
		moved, stakes = moved+ratio, stakes+stake
		logM := math.Log(mean(slices.Concat(won[0][:], won[1][:])))
		if i = n; h.Pairs == 0 || logM > h.LogM {
			h = Harm{Pairs: i, Prefixes: len(seen), Sites: len(where), LogRatio: moved / stakes, LogM: logM}
		}
	}
	return h
}

// betTogether returns, of the pairs of one draw, the sum of stake times e - 1 by size, that of the stakes, and that of stake times ln ratio.
func betTogether(pairs []*Pair, site map[record.Prefix]record.Prefix) (e [len(betSizes)]float64, stake, moved float64) {
	networks := map[record.Prefix]int{}
	for _, p := range pairs {
		networks[site[p.Prefix]]++
	}
	for _, p := range pairs {
		w := min(1, p.traffic()/float64(len(p.T)+1)/fullBlock) / float64(networks[site[p.Prefix]])
		stake, moved = stake+w, moved+w*p.LogRatio()
		for i, m := range betSizes {
			e[i] += w * (p.bet(m) - 1)
		}
	}
	return e, stake, moved
}

// usable returns the usable ones, by pointer: a round sorts all pairs of a day, and a pair is 136 bytes.
func usable(all []Pair) []*Pair {
	pairs := make([]*Pair, 0, len(all))
	for i := range all {
		if all[i].Usable() {
			pairs = append(pairs, &all[i])
		}
	}
	return pairs
}

// Brake reports whether the evidence pulls the brake, and returns the numbers in words.
func (h Harm) Brake() (pull bool, why string) {
	if h.LogM < neededToBrake {
		return false, ""
	}
	return true, fmt.Sprintf("treatment is x %.2f over %d prefixes of %d sites and %d pairs (evidence of harm %.2g, needed %.2g)",
		math.Exp(h.LogRatio), h.Prefixes, h.Sites, h.Pairs, math.Exp(h.LogM), math.Exp(neededToBrake))
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
func sites(pairs []*Pair) map[record.Prefix]record.Prefix {
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
