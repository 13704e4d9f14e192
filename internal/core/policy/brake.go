package policy

import (
	"slices"

	"github.com/congctl/congctl/internal/core/effect"
	"github.com/congctl/congctl/internal/core/record"
)

// Brake: demotion watches single prefixes, and mild harm to many passes under it.
// So the pairs of all who were treated in the last EvidenceSeconds are also judged as
// one, by traffic (core/effect). Those who left since stay among them: a harmful
// treatment whose victims are demoted one by one is harmful all the same.
//
// A plan that has become empty, by the brake or else, begins afresh.

// weighFleet judges all treated prefixes together.
func (e *Engine) weighFleet(judged []*track, round int64) {
	oldest := round - e.rules.Trial.EvidenceSeconds
	e.left = slices.DeleteFunc(e.left, func(p effect.Pair) bool { return p.End <= oldest })
	pairs := slices.Clone(e.left)
	for _, t := range judged {
		if t.chosen.Role == record.ArmNone {
			pairs = append(pairs, t.trial.pairs...)
		}
	}
	e.fleet = effect.WholeFleet(pairs)
}

// put moves a prefix into another state, out of the plan for nil, and keeps what its
// fresh start would forget.
func (e *Engine) put(t *track, s *Selected) {
	if was := t.chosen; was != nil && t.trial != nil && was.Role == record.ArmNone && (s == nil || s.From != was.From) {
		e.left = append(e.left, t.trial.pairs...)
	}
	t.become(s)
}

// afresh forgets what all showed together.
func (e *Engine) afresh() { e.left, e.fleet = nil, effect.Fleet{} }

// pull empties the plan if the treatment harms on the whole. Nobody cools down: it
// says nothing about single prefixes.
func (e *Engine) pull(d *Decision) (pulled bool) {
	harm, why := e.fleet.Brake()
	if !harm || e.hold.unknown != "" {
		return false
	}
	d.Brake = why
	d.Events = append(d.Events, Event{RoundStart: d.RoundStart, Kind: EventBrake, Reason: why})
	for _, t := range e.tracks {
		if t.chosen != nil {
			t.become(nil)
			d.Released++
		}
	}
	return true
}
