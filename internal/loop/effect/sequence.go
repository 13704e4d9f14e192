package effect

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// Evidence that may be looked at after every pair. With S = sum(d/V) and I = sum(1/V)
// of the differences d and their variances V, exp(l S - l^2 I/2) is a martingale when
// the effect is zero, for any l. Mixed over a normal l with standard deviation t:
//
//	E = g^-1/2 exp(t^2 S^2 / 2g),  g = 1 + t^2 I
//
// which under no effect ever reaches 1/a with a probability of at most a (Ville). The
// effects th for which the same E of S - th I stays below 1/a are the bounds:
//
//	S/I -+ sqrt(g (ln g + 2 ln(1/a))) / (t I)
//
// No prefix has exactly the variance that many have together. With a variance of V f, f from the
// scaled inverse chi-square distribution with v = Noise.Freedom degrees, mixed over f in both
// likelihoods, and with Q = sum(d^2/V) and n pairs:
//
//	E = g^-1/2 ((v + Q) / (v + Q - t^2 S^2/g))^((v+n)/2)
//
// of which the first E is the limit for large v. For one side, l is positive only: E is
// multiplied by twice the probability, by the same mixture, that the effect is positive. Harm
// then counts as evidence against benefit.
//
// Sources: Robbins, Annals of Mathematical Statistics 41 (1970); Howard, Ramdas, McAuliffe
// and Sekhon, Annals of Statistics 49 (2021), propositions 5 and 6; for the unknown variance
// Lai, Annals of Statistics 4 (1976), and Wang and Ramdas, Sequential Analysis 44 (2025).

const (
	// Alpha is the probability of ever being wrong: 95 % bounds, evidence of 20.
	Alpha = 0.05

	// mixture is t, in units of ln rate: bounds are tightest for effects of about this size, 1.6 x,
	// between what is worth having and what decides itself.
	mixture = 0.5

	// fewestPairs before any evidence: one pair may straddle an accident (a rerouting, an outage)
	// that no variance accounts for.
	fewestPairs = 2

	// leastLogE stands in when the probability of the other sign leaves the range of numbers
	// (1e-308): JSON has no text for the logarithm of zero. Evidence that can be computed stays above.
	leastLogE = -20
)

// Evidence is what pairs say about one effect, as ln(treatment / control).
type Evidence struct {
	Pairs     int     // with both arms
	LogRatio  float64 // the estimate, pairs weighted by their precision; 0 without pairs
	Var       float64 // of LogRatio, if Noise is right; 0 without pairs
	Low, High float64 // bounds that hold at all times at once with 95 %; infinite below two pairs

	LogEHarm float64 // ln of the evidence against "no harm": ln 20 = 3.0 is the bound of one prefix at 5 %. Of a benefit: LogBenefit
}

// Judge returns the evidence of pairs in time order. It leaves out pairs with one arm. The bounds
// hold for a sequence that began at one pair and only grew: over a sliding window they are an
// interval like any other.
func Judge(pairs []Pair, n Noise) Evidence {
	s := sums{freedom: n.Freedom}
	for _, p := range pairs {
		s.add(p, n)
	}
	e := Evidence{Pairs: s.pairs, Low: math.Inf(-1), High: math.Inf(1)}
	if s.pairs > 0 {
		e.LogRatio, e.Var = s.s/s.i, 1/s.i
	}
	if s.pairs >= fewestPairs {
		r := s.radius(Alpha)
		e.Low, e.High = e.LogRatio-r, e.LogRatio+r
		e.LogEHarm = s.logE(-1)
	}
	return e
}

// sums are S, I and Q of the pairs so far.
type sums struct {
	pairs   int
	s, i, q float64
	freedom float64
}

func (s *sums) add(p Pair, n Noise) {
	if !p.Usable() {
		return
	}
	if v := n.Var(p); v > 0 {
		d := p.LogRatio()
		s.pairs++
		s.s += d / v
		s.i += 1 / v
		s.q += d * d / v
	}
}

func (s *sums) grown() float64 { return 1 + mixture*mixture*s.i }

// logE returns ln of the one-sided evidence for an effect of the sign.
func (s *sums) logE(sign float64) float64 {
	g := s.grown()
	z := sign * mixture * s.s / math.Sqrt(g)
	e := math.Ln2 - math.Log(g)/2
	if s.freedom == 0 {
		return max(leastLogE, e+z*z/2+math.Log(stat.Normal(z)))
	}
	v, left := s.freedom+float64(s.pairs), s.freedom+s.q-z*z
	e += v / 2 * math.Log((s.freedom+s.q)/left)
	return max(leastLogE, e+math.Log(stat.Student(z*math.Sqrt(v/left), v)))
}

// radius returns half of the distance between the bounds: E of S - th I solved for th. With c =
// (g/a^2)^(1/(v+n)) and R = Q - S^2/I it is (c-1)(v+R) / (I (1 - c/g)), squared, and nothing is
// excluded while c >= g.
func (s *sums) radius(alpha float64) float64 {
	g := s.grown()
	need := math.Log(g) - 2*math.Log(alpha)
	if s.freedom == 0 {
		return math.Sqrt(g*need) / (mixture * s.i)
	}
	c := math.Exp(need / (s.freedom + float64(s.pairs)))
	if c >= g {
		return math.Inf(1)
	}
	rest := max(0, s.q-s.s*s.s/s.i)
	return math.Sqrt((c - 1) * (s.freedom + rest) / (s.i * (1 - c/g)))
}
