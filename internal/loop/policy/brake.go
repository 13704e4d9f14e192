package policy

import (
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Brake: demotion watches single prefixes, and mild harm to many passes under it. So the pairs of
// all prefixes are also judged together (loop/effect), of those that are treated still when the
// round's own exits are done: what was demoted one by one harms nobody any more. With a frozen plan
// there are no exits, and the brake holds all the same.

// harm judges all treated prefixes together.
func (e *Engine) harm() effect.Harm {
	var pairs []effect.Pair
	for _, t := range e.tracks {
		if t.trial != nil && t.chosen.Role == record.ArmNone {
			pairs = append(pairs, t.trial.pairs...)
		}
	}
	return effect.HarmOf(pairs)
}

// pull empties the plan if the treatment harms on the whole. No prefix cools down, since
// that says nothing about single prefixes.
func (e *Engine) pull(d *Decision) (pulled bool) {
	if e.in.Unknown != "" {
		return false
	}
	harm, why := e.harm().Brake()
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
	return true
}
