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
// 1 - tanh(m d / 2), d = treatment - control.) A pair stakes a part w of what was won so far,
//
//	M = product of (1 + w (e - 1))
//
// over all networks, whose draws are independent. M is a martingale while the treatment does
// nothing. Where pairs are harmed on average, it grows; effects that cancel do not make it grow. A
// few bet sizes m are mixed, since the size of the harm is unknown.
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

const (
	// brakePerYear is the chance of a false brake in a year, brakeStarts how many blocks a year has,
	// brakeQuestions what is asked in each.
	brakePerYear, brakeStarts, brakeQuestions = 0.05, 365 * 144, 2

	// fullStake bounds what one pair can say: of a trial a factor of 1.75 for harm, 0.25 against.
	// fullBlock is how many connections in a block it takes: the means of smaller ones are noise.
	fullStake, fullBlock = 0.75, 10

	// fewestBlocks before a network counts: three pairs of a trial, one once promoted. Its own
	// evidence, from two pairs on, comes first: where a third of many are harmed, they leave one by
	// one, and the others stay.
	fewestBlocks = 6

	// fewestSites: harm in two places is not harm on the whole. No site gives more than its part of
	// the evidence.
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

// HarmOf judges pairs in any order. At least a share of their sites must show the harm.
func HarmOf(all []Pair, share float64) (h Harm) {
	pairs := usable(all)
	blocks := map[record.Prefix]int{}
	for _, p := range pairs {
		blocks[p.Prefix] += len(p.T) + 1
	}
	pairs = slices.DeleteFunc(pairs, func(p *Pair) bool { return share == 0 && blocks[p.Prefix] < fewestBlocks })
	slices.SortFunc(pairs, func(a, b *Pair) int {
		return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Group, b.Group))
	})
	b := newBets(pairs, share)
	for i, p := range pairs {
		b.add(p)
		if last := i == len(pairs)-1 || pairs[i+1].End != p.End; last && (h.Pairs == 0 || b.logM() > h.LogM) {
			h = Harm{Pairs: i + 1, Prefixes: len(b.seen), Sites: len(b.won), LogRatio: b.moved / b.stakes, LogM: b.logM()}
		}
	}
	return h
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

// bets are those of all pairs back to some time.
type bets struct {
	site          map[record.Prefix]record.Prefix
	networks      map[record.Prefix]int // of a site
	seen          map[record.Prefix]bool
	won           map[record.Prefix]*[len(betSizes)]float64 // by site, ln
	sum           [len(betSizes)]float64                    // over sites, each at most its part
	stakes, moved float64
	part          float64 // of a site at most, ln
}

func newBets(pairs []*Pair, share float64) *bets {
	b := &bets{site: sites(pairs), networks: map[record.Prefix]int{}, seen: map[record.Prefix]bool{}, won: map[record.Prefix]*[len(betSizes)]float64{}}
	for _, s := range b.site {
		b.networks[s]++
	}
	b.part = neededToBrake / max(fewestSites, share*float64(len(b.networks)))
	return b
}

// add takes in one pair. A site's networks share its stake, and small ones stake less.
func (b *bets) add(p *Pair) {
	site := b.site[p.Prefix]
	perBlock := p.traffic() / float64(len(p.T)+1) // whichever of them is the control block
	stake := fullStake * min(1, perBlock/fullBlock) / float64(b.networks[site])
	b.seen[p.Prefix] = true
	b.stakes, b.moved = b.stakes+stake, b.moved+stake*p.LogRatio()
	won := b.won[site]
	if won == nil {
		won = new([len(betSizes)]float64)
		b.won[site] = won
	}
	for i, m := range betSizes {
		b.sum[i] -= min(won[i], b.part)
		won[i] += math.Log1p(stake * (p.bet(m) - 1))
		b.sum[i] += min(won[i], b.part)
	}
}

func (b *bets) logM() float64 {
	top, sum := slices.Max(b.sum[:]), 0.0
	for _, s := range b.sum {
		sum += math.Exp(s - top)
	}
	return top + math.Log(sum/float64(len(b.sum)))
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
