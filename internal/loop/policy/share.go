package policy

import "fmt"

// The treated share is the belief: with selection by benefit no network waits for a proof of its own. P is the probability that the
// utility of benefit.go exceeds worthTrying, of the network by all that is known, and of its group (its site or name, and its class) in the
// mean:
//
//	half of the blocks          P >= tryFrom and P of the group >= tryGroupFrom
//	all but the whole PoP's     P >= sureFrom, of few pairs sureSoon, and P of the group >= sureGroupFrom
//	none, and a cool-down       what treats it falls hysteresis below where it begins, or P < tryFrom after triedPairs
//
// Without the group a lucky network of many that gain nothing is soon thought sure: of 590 in a city of the lab's paths with a treatment that does
// nothing 20 were promoted, with it 1 and 4. And networks of one line, which mostly are of one group, change together, as their draws do
// (loop/plan): where a network is treated and its neighbour is not, the one gains what the other loses.
//
// Harm ends a treatment as well, and a treated block that is far slower than those before puts a network back on half, with fresh
// evidence (watch.go). That the benefit is shown is a figure beside the state, not a gate.
const (
	tryFrom       = 0.3 // below even odds: a trial that fails costs half an hour and one that succeeds gains days
	tryGroupFrom  = 0.4
	sureFrom      = 0.7
	sureGroupFrom = 0.8
	luckyPairs    = 3 // below them a promotion may be the luck of one pair, and promoted networks have the next one after hours
	sureSoon      = 0.95
	triedPairs    = 6   // two hours, in which belief has settled: what is below tryFrom then was no accident
	hysteresis    = 0.1 // so that what lies at a limit does not come and go
)

// share is what the belief calls for, of a prefix in the plan that is treated.
func (e *Engine) share(t *track) verdict {
	if t.trial.evidence.Pairs == 0 || !t.chosen.teaches() {
		return verdict{}
	}
	b, _ := e.expects(t, t.chosen.Network) // by the class that it was selected with
	own, group := b.exceeds(worthTrying), e.ofGroup(t, t.chosen.Network, b)
	promoted := t.chosen.State == StatePromoted
	least, sure := limits(t.trial.evidence.Pairs)
	switch {
	case own < least || group < tryGroupFrom-hysteresis:
		return verdict{kind: EventRetired, reason: "hardly worth it any more: " + b.text()}
	case !promoted && own >= sure && group >= sureGroupFrom:
		return verdict{kind: EventPromoted, reason: b.text()}
	case promoted && (own < sureFrom-hysteresis || group < sureGroupFrom-hysteresis):
		return verdict{kind: EventRetrial, reason: b.text(), keeps: true}
	}
	return verdict{}
}

// limits returns P below which a network leaves, and from which it is promoted, after so many pairs.
func limits(pairs int) (least, sure float64) {
	least, sure = tryFrom-hysteresis, sureFrom
	if pairs < luckyPairs {
		sure = sureSoon
	}
	if pairs >= triedPairs {
		least = tryFrom
	}
	return least, sure
}

// belief says what is believed of a prefix in the plan, and what its share of blocks depends on.
func (e *Engine) belief(t *track) string {
	b, _ := e.expects(t, t.chosen.Network)
	_, own := limits(t.trial.evidence.Pairs)
	group, what := sureGroupFrom, "is treated in all blocks but the whole PoP's"
	if t.chosen.State == StatePromoted {
		own, group = sureFrom-hysteresis, sureGroupFrom-hysteresis
		what = "stays promoted"
	}
	text := fmt.Sprintf("Believed: %s, its class around it with %s; from %s and %s on it %s.",
		b.text(), percent(e.ofGroup(t, t.chosen.Network, b), 0), percent(own, 0), percent(group, 0), what)
	if taken := e.turns.Taken(); taken != nil && taken.Low > 0 {
		text += " In all, " + taken.Text() + "."
	}
	return text
}

// ofGroup is the probability that the mean of a prefix's group is worth treating.
func (e *Engine) ofGroup(t *track, network string, b belief) float64 {
	g := e.pooled.mean(t.prefix, network, b.class)
	g.lost = b.lost
	return g.exceeds(worthTrying)
}
