package effect

import "math"

// Before and after: what people ask for first, and no evidence. Prefixes are chosen while they
// are slow, and what is slow now is on average less slow later, without any treatment (Galton,
// 1886: regression to the mean). The control blocks of the same prefixes show how much of the
// change is that; the rest is the effect:
//
//	after T / before = (after C / before) x (T / C)

// NoEvidence stands beside every before/after figure.
const NoEvidence = "no evidence: prefixes are chosen while slow and recover without treatment; see the untreated change"

// Course is one prefix: mean ln rate in the hours before it was chosen, and in the treatment
// and control blocks since.
type Course struct{ Before, Treated, Control float64 }

// Change is the geometric mean over prefixes. Its three ratios multiply up: Naive =
// Untreated x Effect. All are 0 for no prefix.
type Change struct {
	Prefixes  int
	Naive     float64 // treated blocks divided by before
	Untreated float64 // control blocks divided by before: regression to the mean, and the time of day
	Effect    float64 // treated blocks divided by control blocks
	Label     string  // NoEvidence
}

// BeforeAfter sets the naive figure beside what explains it.
func BeforeAfter(courses []Course) Change {
	c := Change{Prefixes: len(courses), Label: NoEvidence}
	var naive, untreated float64
	for _, k := range courses {
		naive += k.Treated - k.Before
		untreated += k.Control - k.Before
	}
	if n := float64(len(courses)); n > 0 {
		c.Naive, c.Untreated, c.Effect = math.Exp(naive/n), math.Exp(untreated/n), math.Exp((naive-untreated)/n)
	}
	return c
}
