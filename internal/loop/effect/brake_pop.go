package effect

import (
	"cmp"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// The brake where one draw decides for all networks. Their bets of one group are one bet, the mean over sites, each with its stake as in
// brake.go; where few sites are treated, as many others as it takes bet nothing, so that harm in one place is not harm on the whole:
//
//	M = product over groups of (1 + w (mean of e - 1))
//
// Each e is 1 on average over that draw while the treatment does nothing, and so is their mean, whatever shock the networks share.
// Trials have groups of two blocks, the others longer ones, and the control block of all is in both: so each kind has its own M, and
// the mean of the two counts. The price is time: of harm by half to all a pair of two blocks says no more than a factor of 1.75, and 30 of
// them, ten hours, pull the brake. Before that, each network has left by what it shows itself (loop/policy).

// HarmTogether judges pairs of one draw, in any order. At least a share of their sites must show the harm.
func HarmTogether(all []Pair, share float64) (h Harm) {
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
