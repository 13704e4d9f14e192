package effect

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/core/record"
)

// The brake: harm on the whole. Effects differ between prefixes, so the variance is not
// assumed but taken from the pairs, differences between prefixes included; and since the
// brake is looked at in every round, an interval for one look would pull it by itself
// sooner or later. With weights w, the estimate m = sum(w d) / sum(w), its variance
// s^2 = sum(w^2 (d-m)^2) / sum(w)^2, and n = sum(w)^2 / sum(w^2) pairs' worth:
//
//	m -+ s sqrt((1 + 1/(n r^2)) (ln(1 + n r^2) + 2 ln(1/a)))
//
// holds at all times at once, asymptotically. The weight of a pair is its traffic, each
// arm's connections by 1/P(arm): so promoted prefixes count as much per connection as
// others. Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central
// limit theory and asymptotic confidence sequences", Annals of Statistics 52 (2024), theorem 2.2.

const (
	// fleetTuning is r^2: tightest at 100 pairs, the first hours of a usual fleet (ibid., appendix B.2).
	fleetTuning = 0.079
	// fewestFleetPairs, in pairs' worth: below, the variance itself is a guess.
	fewestFleetPairs = 30
	// fewestFleetPrefixes: what happens to two prefixes is no harm on the whole.
	fewestFleetPrefixes = 3
)

// Fleet is the effect over all pairs, by traffic, as ln(treatment / control).
type Fleet struct {
	Pairs, Prefixes     int
	Worth               float64 // pairs of equal weight that would say as much
	LogRatio, Low, High float64 // Low and High hold at all times with 95 %; both 0 where Known is false
	Known               bool    // enough pairs for bounds
}

// WholeFleet gives the effect over pairs: all since a start, none left behind.
func WholeFleet(pairs []Pair) (f Fleet) {
	prefixes := map[record.Prefix]bool{}
	var sum, squares, differences float64
	for _, p := range pairs {
		if !p.Usable() {
			continue
		}
		w := p.traffic()
		prefixes[p.Prefix] = true
		f.Pairs++
		sum += w
		squares += w * w
		differences += w * p.LogRatio()
	}
	if f.Prefixes = len(prefixes); f.Pairs == 0 {
		return f
	}
	f.Worth, f.LogRatio = sum*sum/squares, differences/sum
	if f.Known = f.Worth >= fewestFleetPairs && f.Prefixes >= fewestFleetPrefixes; f.Known {
		r := fleetRadius(pairs, f.LogRatio, sum, f.Worth)
		f.Low, f.High = f.LogRatio-r, f.LogRatio+r
	}
	return f
}

// fleetRadius is half of the bounds' distance.
func fleetRadius(pairs []Pair, mean, weights, n float64) float64 {
	squares := 0.0
	for _, p := range pairs {
		if p.Usable() {
			off := p.traffic() * (p.LogRatio() - mean)
			squares += off * off
		}
	}
	grown := n * fleetTuning
	return math.Sqrt(squares) / weights * math.Sqrt((1+1/grown)*(math.Log1p(grown)-2*math.Log(Alpha)))
}

// traffic is a pair's connections, each arm weighted by 1/P(arm): what the group would have
// had under either arm, twice.
func (p Pair) traffic() float64 {
	return float64(p.T.N)/p.share() + float64(p.C.N)/(1-p.share())
}

// Brake reports whether the bounds exclude "no harm", and says with which numbers.
func (f Fleet) Brake() (pull bool, why string) {
	if !f.Known || f.High >= 0 {
		return false, ""
	}
	return true, fmt.Sprintf("treatment is x %.2f over %d prefixes and %d pairs (95 %%, at any time: %.2f to %.2f)",
		math.Exp(f.LogRatio), f.Prefixes, f.Pairs, math.Exp(f.Low), math.Exp(f.High))
}
