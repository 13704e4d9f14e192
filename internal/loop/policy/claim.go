package policy

import (
	"math"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Claims: of which networks it may be said that the treatment helps them. A claim is a figure for people; it decides nothing. It
// rests on the draw of the blocks and on nothing that congctl believes (effect.LogBenefit), over the last EvidenceSeconds, and counts all that were
// tried in them: those that left for lack of luck, too.

// Claim is what the blocks of a treated network have shown.
type Claim string

const (
	ClaimShown Claim = "shown" // a benefit
	ClaimOpen  Claim = "open"  // neither, so far
	ClaimHarm  Claim = "harm"
)

// claims renews what is shown of the networks whose pairs were just weighed.
func (e *Engine) claims(judged []*track, round int64) {
	var tried []*trial
	var logs []float64
	for _, t := range judged {
		if t.trial.benefit = effect.LogBenefit(t.trial.pairs); t.chosen.Role == record.ArmNone && len(t.trial.pairs) > 0 {
			tried, logs = append(tried, t.trial), append(logs, t.trial.benefit)
		}
	}
	left := map[record.Prefix][]effect.Pair{}
	for _, p := range e.gone {
		if p.End > round-e.rules.Trial.EvidenceSeconds {
			left[p.Prefix] = append(left[p.Prefix], p)
		}
	}
	for _, pairs := range left {
		logs = append(logs, effect.LogBenefit(pairs))
	}
	for i, factor := range effect.UntilShown(logs)[:len(tried)] {
		tried[i].untilShown = factor
	}
}

// claim returns what is shown of a network on trial or promoted, and in how many seconds its benefit will be, if its pairs go on as
// they did: 0 where it is shown, and where the pairs that count will not suffice. "" for those that are not treated.
func (e *Engine) claim(t *track) (c Claim, in int64) {
	l := t.trial
	switch {
	case l == nil || t.chosen.Role != record.ArmNone:
		return "", 0
	case l.shown().LogEHarm() >= needed:
		return ClaimHarm, 0
	case len(l.pairs) == 0:
		return ClaimOpen, 0
	case l.untilShown <= 1:
		return ClaimShown, 0
	}
	first, last := l.pairs[0], l.pairs[len(l.pairs)-1]
	so := float64(last.End - first.Begin())
	if need := so * l.untilShown; need <= float64(e.rules.Trial.EvidenceSeconds) {
		return ClaimOpen, int64(math.Ceil(need - so))
	}
	return ClaimOpen, 0
}

// claimText says it in a sentence, "" for those that are not treated.
func (e *Engine) claimText(t *track) string {
	switch c, in := e.claim(t); {
	case c == ClaimShown:
		return "A benefit is shown, by the draw of the blocks alone."
	case c == ClaimOpen && in > 0:
		return "No benefit is shown yet: in about " + answer.About(in) + " if blocks go on like this."
	case c == ClaimOpen:
		return "No benefit is shown."
	}
	return ""
}
