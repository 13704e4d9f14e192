package policy

import (
	"slices"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Brake: demotion watches single prefixes, and mild harm to many passes under it. So the pairs of
// all prefixes are also judged together (loop/effect), of those that are treated still when the
// round's own exits are done: what was demoted one by one does no harm any more. And of all that were
// treated as long as evidence counts, where half of them must show the harm: what harms most of those
// tried will harm the next. With a frozen plan there are no exits, and the brake holds all the same.

// mostOfTried is the share of sites that must show the harm, those that left included.
const mostOfTried = 0.5

// harm judges all treated prefixes together, and with those that left.
func (e *Engine) harm(round int64) (treated, tried effect.Harm) {
	pairs := e.treatedPairs()
	e.gone = slices.DeleteFunc(e.gone, func(p effect.Pair) bool { return p.End <= round-e.rules.Trial.EvidenceSeconds })
	return effect.HarmOf(pairs, 0), effect.HarmOf(append(pairs, e.gone...), mostOfTried)
}

// treatedPairs are those of all treated prefixes.
func (e *Engine) treatedPairs() (pairs []effect.Pair) {
	for _, t := range e.tracks {
		if t.trial != nil && t.chosen.Role == record.ArmNone {
			pairs = append(pairs, t.trial.pairs...)
		}
	}
	return pairs
}

// Effect is what the treatment does over all pairs that count as evidence, those of prefixes that
// left included, and what it costs.
func (e *Engine) Effect() (effect.Fleet, effect.Cost) {
	pairs := append(e.treatedPairs(), e.gone...)
	return effect.WholeFleet(pairs), effect.CostOf(pairs)
}

// pull empties the plan if the treatment harms on the whole. No prefix cools down, since
// that says nothing about single prefixes.
func (e *Engine) pull(d *Decision) (pulled bool) {
	if e.in.Unknown != "" {
		return false
	}
	treated, tried := e.harm(d.RoundStart)
	harm, why := treated.Brake()
	if !harm {
		harm, why = tried.Brake()
	}
	if !harm {
		harm, why = e.harmToAll()
	}
	if !harm {
		return false
	}
	d.Brake = why
	d.Events = append(d.Events, Event{RoundStart: d.RoundStart, Kind: EventBrake, Reason: why + "; no new treatment until congctl resume"})
	for _, t := range e.tracks {
		if t.chosen != nil {
			e.put(t, nil)
			d.Released++
		}
	}
	e.gone = nil
	return true
}
