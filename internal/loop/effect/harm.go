package effect

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Cost as a reason to stop at once. Mild harm in speed stays unknown for hours, but
// retransmissions are known from thousands of packets per block:
//
//	retransmitted share T - retransmitted share C >= 2 points, and the rate is not 10 % higher

const (
	harmPoints = 0.02    // of sent bytes: what BBR adds on a path where it overruns the buffer
	rounding   = 1e-9    // 3 % - 1 % is a little less than 2 % in binary
	worthRate  = 1.10    // a rate gain that pays for it
	harmBytes  = 1500000 // sent in each arm: some 1,000 packets, so that two points are 20 packets
)

// FastHarm reports whether the given pairs (the last one, or those of a trial) show the cost
// without the gain, and why. Rates are judged in favour of the treatment, by the estimate plus
// one standard error: from one pair alone it is coarse.
func FastHarm(pairs []Pair, n Noise) (harm bool, why string) {
	var sentT, sentC, againT, againC float64
	for _, p := range pairs {
		if p.Usable() {
			t, c := float64(p.Treated().SentBytes), float64(p.C.SentBytes)
			shareT, shareC := p.RetransShares()
			sentT, sentC, againT, againC = sentT+t, sentC+c, againT+t*shareT, againC+c*shareC
		}
	}
	rate, se := estimate(pairs, n)
	if min(sentT, sentC) < harmBytes || againT/sentT-againC/sentC < harmPoints-rounding || rate+se >= math.Log(worthRate) {
		return false, ""
	}
	return true, fmt.Sprintf("retransmits %.1f %% instead of %.1f %%, rate x %.2f",
		100*againT/sentT, 100*againC/sentC, math.Exp(rate))
}

// estimate returns the mean difference, weighted by precision, and its standard error.
func estimate(pairs []Pair, n Noise) (mean, se float64) {
	var s sums
	for _, p := range pairs {
		s.add(p, n)
	}
	return s.s / s.i, 1 / math.Sqrt(s.i)
}

// The brake: harm on the whole. Effects differ between prefixes, so the variance is not
// assumed but taken from the pairs, differences between prefixes included. The brake is checked
// in every round, so an interval for a single look would sooner or later pull it by chance. With
// weights w, the estimate m = sum(w d) / sum(w), its variance s^2 = sum(w^2 (d-m)^2) /
// sum(w)^2, and n = sum(w)^2 / sum(w^2) pairs' worth:
//
//	m -+ s sqrt((1 + 1/(n r^2)) (ln(1 + n r^2) + 2 ln(1/a)))
//
// holds at all times at once, asymptotically. The weight of a pair is its traffic: the
// connections of all its blocks, so that promoted prefixes count as much per connection as others.
// Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory
// and asymptotic confidence sequences", Annals of Statistics 52 (2024), theorem 2.2.

const (
	// fleetTuning is r^2: tightest at 100 pairs, the first hours of a usual fleet (ibid., appendix B.2).
	fleetTuning = 0.079
	// fewestFleetPairs, in pairs' worth: below it, the variance itself is a guess.
	fewestFleetPairs = 30
	// fewestFleetPrefixes: two harmed prefixes are not harm on the whole.
	fewestFleetPrefixes = 3
)

// Fleet is the effect over all pairs, by traffic, as ln(treatment / control).
type Fleet struct {
	Pairs, Prefixes     int
	Worth               float64 // number of equally weighted pairs with the same information
	LogRatio, Low, High float64 // Low and High hold at all times with 95 %; both 0 if Known is false
	Known               bool    // enough pairs for bounds
}

// WholeFleet returns the effect over all pairs since a start, including those of prefixes that left.
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

// fleetRadius returns half of the distance between the bounds.
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

// traffic returns a pair's connections in both arms.
func (p Pair) traffic() float64 { return float64(p.Treated().N + p.C.N) }

// Brake reports whether the bounds exclude "no harm", and returns the numbers in words.
func (f Fleet) Brake() (pull bool, why string) {
	if !f.Known || f.High >= 0 {
		return false, ""
	}
	return true, fmt.Sprintf("treatment is x %.2f over %d prefixes and %d pairs (95 %%, at any time: %.2f to %.2f)",
		math.Exp(f.LogRatio), f.Prefixes, f.Pairs, math.Exp(f.Low), math.Exp(f.High))
}
