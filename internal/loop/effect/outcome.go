package effect

import "math"

// Two outcomes: a pair shows what the treatment did to the delivery rate, which decides whether it
// helps, and to goodput over busy time. A treatment can leave the rate as it is, or raise it, while
// responses take longer: losses that it makes are repaired in time that the samples of the rate do
// not cover. So harm in either demotes.
//
// Each outcome has evidence E against "no harm" by itself. Evidence may be averaged, whatever the two
// have in common: if neither is harmed the mean of two martingales is one, and reaches 1/a with a
// probability of at most a. Two tests, each at half of a, would ask for E of 2/a in one of them, and
// then the mean is 1/a too: it is never slower, and faster where both are harmed.
//
//	E = (E rate + E goodput) / 2;  E rate alone where goodput is not known in two pairs
//
// Source: Vovk and Wang, "E-values: Calibration, combination and applications", Annals of Statistics
// 49 (2021), section 3.

// Outcomes is what pairs say about both.
type Outcomes struct {
	Rate    Evidence // the primary one, as Judge returns it
	Goodput Evidence // over the pairs that know it
}

// JudgeBoth returns the evidence of pairs in time order on both outcomes, each with its own noise.
func JudgeBoth(pairs []Pair, rate, goodput Noise) Outcomes {
	return Outcomes{Judge(pairs, rate), Judge(ByGoodput(pairs), goodput)}
}

// LogEHarm returns ln of the evidence that the treatment harms one of the outcomes.
func (o Outcomes) LogEHarm() float64 {
	if o.Goodput.Pairs < fewestPairs {
		return o.Rate.LogEHarm
	}
	top := max(o.Rate.LogEHarm, o.Goodput.LogEHarm)
	return top + math.Log((math.Exp(o.Rate.LogEHarm-top)+math.Exp(o.Goodput.LogEHarm-top))/2)
}

// Worse returns the outcome that shows more harm, and whether it is goodput.
func (o Outcomes) Worse() (e Evidence, goodput bool) {
	if o.Goodput.Pairs >= fewestPairs && o.Goodput.LogEHarm > o.Rate.LogEHarm {
		return o.Goodput, true
	}
	return o.Rate, false
}

// ByGoodput returns the pairs with goodput in the place of the rate, without those that do not know it.
func ByGoodput(pairs []Pair) (list []Pair) {
	for _, p := range pairs {
		g := p
		g.T, g.C = nil, p.C.byGoodput()
		for _, b := range p.T {
			if b.Goodput.N > 0 {
				g.T = append(g.T, b.byGoodput())
			}
		}
		if g.Usable() {
			list = append(list, g)
		}
	}
	return list
}

func (b Block) byGoodput() Block {
	b.N, b.MeanLog, b.VarLog = b.Goodput.N, b.Goodput.Mean, b.Goodput.Var
	return b
}
