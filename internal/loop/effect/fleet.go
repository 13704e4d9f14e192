package effect

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// The effect over a fleet. Effects differ between prefixes, so the variance is not assumed but
// taken from the pairs, differences between prefixes included. The report may be asked for at any
// time, and an interval for a single look would sooner or later exclude the truth by chance. With
// weights w, the estimate m = sum(w d) / sum(w), its variance s^2 = sum(w^2 (d-m)^2) /
// sum(w)^2, n = sum(w)^2 / sum(w^2) pairs' worth, g = 1 + n r^2 and c = (g / a^2)^(1/n):
//
//	m -+ s sqrt(n (c - 1) / (1 - c/g))
//
// holds at all times at once where differences are normal, whatever their variance is; for large n it tends to
// s sqrt((1 + 1/(n r^2)) (ln g + 2 ln(1/a))), which holds asymptotically whatever their distribution is. Nothing is excluded while c >= g.
// The weight of a pair is its traffic: the connections of all its blocks, so that promoted prefixes count as much per connection as
// others. Pairs of one draw are one.
// Sources: Lai, Annals of Statistics 4 (1976), as in Judge without a known variance; Waudby-Smith, Arbour, Sinha, Kennedy and
// Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics 52 (2024), theorem 2.2.

const (
	// fleetTuning is r^2: tightest at some 25 pairs, of which a PoP has nine a day where all is promoted; at 300 it is 5 % wider than the
	// best one.
	fleetTuning = 0.3
	// fewestFleetPairs, in pairs' worth: with 7 the bounds are 1.7 times as far apart as with 8, with 6 there are none.
	fewestFleetPairs = 8
	// fewestFleetPrefixes: two harmed prefixes are not harm on the whole.
	fewestFleetPrefixes = 3
)

// Fleet is the effect over all pairs, by traffic, as ln(treatment / control).
type Fleet struct {
	Pairs, Prefixes     int
	Worth               float64 // number of equally weighted pairs with the same information
	LogRatio, Low, High float64 // Low and High hold at all times with 95 %; both 0 if Known is false
	Known               bool    // enough pairs for bounds
	BoundsIn            int64   // seconds until there are, if pairs come as they did; 0: Known, or too few prefixes
}

// WholeFleet returns the effect over all pairs since a start, including those of prefixes that left.
func WholeFleet(pairs []Pair) (f Fleet) {
	prefixes := map[record.Prefix]bool{}
	first, last := int64(math.MaxInt64), int64(0)
	var all terms
	at := map[drawnAt]int{}
	for _, p := range pairs {
		if !p.Usable() {
			continue
		}
		prefixes[p.Prefix] = true
		f.Pairs++
		first, last = min(first, p.Begin()), max(last, p.End)
		if i, known := at[p.drawnAt()]; known && p.Drawn != 0 {
			all[i] = all[i].join(term{p.LogRatio(), p.traffic()})
			continue
		}
		at[p.drawnAt()] = len(all)
		all = append(all, term{p.LogRatio(), p.traffic()})
	}
	if f.Prefixes = len(prefixes); f.Pairs == 0 {
		return f
	}
	mean, sum, worth := all.mean()
	f.Worth, f.LogRatio = worth, mean
	switch {
	case f.Prefixes < fewestFleetPrefixes && !prefixes[record.All]:
	case f.Worth < fewestFleetPairs:
		f.BoundsIn = int64(math.Ceil(float64(last-first) * (fewestFleetPairs/worth - 1)))
	default:
		r := all.radius(mean, sum, worth)
		f.Known, f.Low, f.High = true, f.LogRatio-r, f.LogRatio+r
	}
	return f
}

// drawnAt names a draw that decided for all networks: End and Group are of one length of groups. Their pairs are one term: what
// all networks did in that one control block would pass for as many findings as there are networks.
type drawnAt struct{ drawn, end, group int64 }

func (p Pair) drawnAt() drawnAt { return drawnAt{int64(p.Drawn), p.End, p.Group} }

// term is one difference and its weight.
type term struct{ d, w float64 }

func (t term) join(o term) term { return term{(t.d*t.w + o.d*o.w) / (t.w + o.w), t.w + o.w} }

type terms []term

// mean also returns the sum of the weights, and the number of equally weighted terms with the same
// information.
func (t terms) mean() (mean, sum, worth float64) {
	squares, differences := 0.0, 0.0
	for _, x := range t {
		sum += x.w
		squares += x.w * x.w
		differences += x.w * x.d
	}
	return differences / sum, sum, sum * sum / squares
}

// radius returns half of the distance between the bounds.
func (t terms) radius(mean, weights, n float64) float64 {
	squares := 0.0
	for _, x := range t {
		off := x.w * (x.d - mean)
		squares += off * off
	}
	return math.Sqrt(squares) / weights * fleetFactor(n)
}

// fleetFactor returns how many standard errors the bounds are from the estimate, from fewestFleetPairs on.
func fleetFactor(n float64) float64 {
	g := 1 + n*fleetTuning
	c := math.Pow(g/Alpha/Alpha, 1/n)
	return math.Sqrt(n * (c - 1) / (1 - c/g))
}

// traffic returns a pair's connections in both arms.
func (p Pair) traffic() float64 { return float64(p.Treated().N + p.C.N) }

// Cost is what a treatment sends in vain.
type Cost struct {
	Pairs            int     // with enough sent in both arms
	Treated, Control float64 // retransmitted share, the mean of the pairs
}

// CostOf returns it.
func CostOf(pairs []Pair) (c Cost) {
	for _, p := range pairs {
		if p.sent() {
			treated, control := p.RetransShares()
			c.Pairs, c.Treated, c.Control = c.Pairs+1, c.Treated+treated, c.Control+control
		}
	}
	c.Treated /= float64(max(c.Pairs, 1))
	c.Control /= float64(max(c.Pairs, 1))
	return c
}
