package policy

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Brake: demotion watches single prefixes, and mild harm to many passes under it. So the pairs of
// all prefixes are also judged together (loop/effect), as their groups end. With a frozen plan there are no exits, and the brake
// holds all the same.

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
	var ofAll []effect.Pair
	if t, _ := e.find(record.All); t != nil && t.trial != nil {
		ofAll = t.trial.pairs
	}
	harm, why := e.harm.Brake(e.rules.Trial.groupSeconds(), ofAll, e.noise)
	if !harm {
		return false
	}
	f, _ := e.Effect()
	d.Brake = fmt.Sprintf("%s; rate x %.2f over %s and %s", why, math.Exp(f.LogRatio), answer.Count(f.Prefixes, "network"), answer.Count(f.Pairs, "pair"))
	d.Events = append(d.Events, Event{RoundStart: d.RoundStart, Kind: EventBrake, Reason: d.Brake + "; no new treatment until congctl resume"})
	for _, t := range e.tracks {
		if t.chosen != nil {
			e.put(t, nil)
			d.Released++
		}
	}
	e.gone, e.harm = nil, effect.Harm{Until: d.RoundStart}
	return true
}
