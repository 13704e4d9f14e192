package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Exit by effect, and the moves between trial and promoted.

// enter sets the state in which a prefix enters the plan.
func (e *Engine) enter(s *Selected, round int64) {
	if !e.rules.Experiment() {
		return
	}
	s.State, s.Role, s.From = StateTrial, e.role(s.Prefix), e.nextBlock(round)
	s.Retired = e.warm(s.Prefix)
}

// advance acts on what the evidence calls for.
func (e *Engine) advance(t *track, d *Decision) {
	if t.trial == nil || t.chosen.Role == record.ArmHoldout {
		return
	}
	v, s := t.trial.verdict, *t.chosen
	switch v.kind {
	case EventPromoted:
		s.State, s.Retired, s.Reason = StatePromoted, 0, v.reason
		e.move(t, s, v, d)
	case EventRetrial:
		if s.State, s.Reason = StateTrial, "again: "+v.reason; !v.keeps {
			s.From = e.nextBlock(d.RoundStart)
		}
		e.move(t, s, v, d)
	case EventRetired:
		if e.mayRelease(d) { // a group may be given up as one: the others in the next rounds
			e.retire(t, v, d)
		}
	case EventDemoted:
		e.retire(t, v, d)
	}
}

// move puts a prefix into another state of the plan for the reason of a verdict.
func (e *Engine) move(t *track, s Selected, v verdict, d *Decision) {
	s.Since = d.RoundStart
	e.put(t, &s)
	e.tell(d, v.kind, t, "", e.ofRole(t, v.reason))
}

// retire ends a trial or a promotion and makes the prefix wait.
func (e *Engine) retire(t *track, v verdict, d *Decision) {
	c := Cooling{Prefix: t.prefix, Row: t.chosen.Retired + 1}
	if l := t.trial.evidence; l.Pairs > 0 && t.chosen.teaches() {
		c.Class, c.Network, c.LogRatio, c.Var = t.chosen.Class, t.chosen.Network, l.LogRatio, l.Var
	}
	text := v.reason + "; " + e.cool(c, d.RoundStart)
	text = e.ofRole(t, text)
	d.Released++
	x := e.explain(t) // with the basis of the verdict, which leaving drops
	e.put(t, nil)
	d.Events = append(d.Events, Event{RoundStart: d.RoundStart, Kind: v.kind, Prefix: t.prefix, Reason: text, Evidence: &x})
}

// mayRelease reports whether one more release is a change that the plan's readers accept.
func (e *Engine) mayRelease(d *Decision) bool { return d.Released < max(e.rules.MaxNewPerRound, 1) }

// ofRole marks what concerns no treatment.
func (e *Engine) ofRole(t *track, text string) string {
	if t.chosen != nil && t.chosen.Role == record.ArmAA {
		return "A/A, never treated: " + text
	}
	return text
}

// beginAgain: nothing was treated in this window, so nothing seen in it, or later in this
// block, counts. Every trial starts again, and promoted prefixes are on trial again.
func (e *Engine) beginAgain(round int64) {
	for _, t := range e.tracks {
		if t.trial == nil {
			continue
		}
		s := *t.chosen
		s.From = e.nextBlock(round)
		if s.State == StatePromoted {
			s.Reason = "restarted: treatment was stopped"
		}
		if s.State != StateAlways {
			s.State, s.Since = StateTrial, round
		}
		e.put(t, &s)
	}
	e.gone, e.harm = nil, effect.Harm{Until: round}
}

// settled is a state of earlier versions: promoted, with fewer control blocks.
const settled = "settled"

// converted returns a stored selection under the present rules: since it was stored, the
// experiment may have been turned on or off, or a prefix named for a role.
func (e *Engine) converted(s Selected, round int64) Selected {
	if !e.rules.Cap {
		s.Pace = Pace{}
	}
	if !e.rules.Experiment() {
		if s.From, s.Group = 0, 0; s.State != StateAlways {
			s.State, s.Role, s.Retired = "", 0, 0
		}
		return s
	}
	switch {
	case s.State == settled:
		s.State = StatePromoted
	case s.Role == record.ArmAA:
		s.State = StateTrial // an earlier version promoted them, too
	}
	if s.State == StateAlways {
		return s // as it was then; the next round looks at the list
	}
	if role := e.role(s.Prefix); s.State == "" || s.Role != role {
		s.Since, s.State, s.Role, s.From, s.Group = round, StateTrial, role, e.nextBlock(round), 0
	}
	return s
}

// Cool-down: a prefix that was tried and did not gain waits, longer each time in a row:
//
//	wait(k) = min(CooldownSeconds 2^(k-1), MaxCooldownSeconds),  k retirements in a row
//
// A demotion counts and waits like a retirement. A promotion ends the row. So does time:
// a prefix that was not tried again for as long as it waited starts a new row.

// Cooling is a prefix that was tried. From Until on it may be tried again.
type Cooling struct {
	Prefix record.Prefix `json:"prefix"`
	Until  int64         `json:"until"` // Unix seconds
	Row    int           `json:"row"`   // retirements in a row

	// What the trial showed: ln of the rate's ratio, and its variance.
	Class    Class   `json:"class,omitempty"`
	Network  string  `json:"network,omitempty"`
	LogRatio float64 `json:"log_ratio,omitempty"`
	Var      float64 `json:"variance,omitempty"`
}

// wait is the cool-down after so many retirements in a row.
func (r Trial) wait(row int) int64 {
	w := r.CooldownSeconds
	for ; row > 1 && w < r.MaxCooldownSeconds; row-- {
		w *= 2
	}
	return min(w, r.MaxCooldownSeconds)
}

// cool makes a prefix wait that leaves the plan after c.Row retirements in a row.
func (e *Engine) cool(c Cooling, round int64) (text string) {
	w := e.rules.Trial.wait(c.Row)
	c.Until = round + w
	e.cooling[c.Prefix] = c
	text = "cools down for " + durationText(w)
	if c.Row > 1 {
		text += fmt.Sprintf(", number %d in a row", c.Row)
	}
	return text
}

// isCooling reports whether a prefix must still wait at a round.
func (e *Engine) isCooling(p record.Prefix, round int64) bool { return round < e.cooling[p].Until }

// warm takes a prefix off the list and returns its number of retirements in a row.
func (e *Engine) warm(p record.Prefix) (row int) {
	row = e.cooling[p].Row
	delete(e.cooling, p)
	return row
}

// keepRow remembers the row of a prefix that leaves for another reason than its effect: it
// may be tried again at once, and continues its row.
func (e *Engine) keepRow(t *track, round int64) {
	if n := t.chosen.Retired; n > 0 {
		e.cooling[t.prefix] = Cooling{Prefix: t.prefix, Until: round, Row: n}
	}
}

// coolingList drops rows that have expired, and returns the others by prefix; nil if there are none.
func (e *Engine) coolingList(round int64) []Cooling {
	maps.DeleteFunc(e.cooling, func(_ record.Prefix, c Cooling) bool { return round >= c.Until+e.rules.Trial.wait(c.Row) })
	return e.coolingByPrefix()
}

func (e *Engine) coolingByPrefix() (list []Cooling) {
	for _, p := range slices.Sorted(maps.Keys(e.cooling)) {
		list = append(list, e.cooling[p])
	}
	return list
}

func (e *Engine) recallCooling(list []Cooling) {
	clear(e.cooling)
	if !e.rules.Experiment() {
		return
	}
	for _, c := range list {
		e.cooling[c.Prefix] = c
	}
}
