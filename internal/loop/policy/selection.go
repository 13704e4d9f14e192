package policy

import (
	"cmp"
	"fmt"
	"slices"
)

// Selection:
//
//	in:  known >= MinKnown, duty >= SelectDuty, flap <= SelectFlap, no guard;
//	     by duty (highest first), performance (lowest first), prefix;
//	     at most MaxNewPerRound in a round and MaxSelected in all
//	out: known >= MinKnown and duty < ReleaseDuty; or denied; or silent for
//	     MaxAgeSeconds, when no evidence is left that it is in use at all
//
// Between ReleaseDuty and SelectDuty nothing changes: the gap keeps a prefix at
// the edge from going in and out.

const defaultReason = "the default congestion control is the treatment already: nothing to treat"

// candidate is a prefix that the level rules would select.
type candidate struct {
	t     *track
	s     standing
	guard string // names of the guards that keep it out; "" for none
	blind bool   // no control connection in the lookback to judge guards by
}

// decide changes the selection.
func (e *Engine) decide(d *Decision) {
	e.release(d)
	chosen := 0
	for _, t := range e.tracks {
		if t.chosen != nil {
			chosen++
		}
	}
	room := min(e.rules.MaxNewPerRound, e.rules.MaxSelected-chosen)
	for _, c := range e.judgeAll(d) {
		if d.New >= room {
			return
		}
		e.choose(c, d)
	}
}

// judgeAll gives those that may be selected, best reason first, and notes who is refused.
func (e *Engine) judgeAll(d *Decision) (free []candidate) {
	if e.hold.isDefault {
		return nil
	}
	var refused []candidate
	for _, t := range e.tracks {
		c, ok := e.candidate(t)
		switch {
		case !ok:
			t.refused = ""
		case c.guard != "":
			refused = append(refused, c)
		case !c.blind:
			t.refused = ""
			free = append(free, c)
		}
	}
	slices.SortFunc(free, compareCandidates)
	slices.SortFunc(refused, compareCandidates)
	e.refuse(refused, d)
	return free
}

// candidate says whether level and history would select t, and what its guards say.
func (e *Engine) candidate(t *track) (c candidate, ok bool) {
	if t.chosen != nil || len(t.history) < e.rules.MinKnown || e.isCooling(t.prefix, e.start(e.now)+e.rules.WindowSeconds) {
		return c, false
	}
	c = candidate{t: t, s: t.standing()}
	if c.s.duty() < e.rules.SelectDuty || c.s.flap() > e.rules.SelectFlap {
		return c, false
	}
	p := t.pool(e.now, e.rules)
	c.guard = hits(e.guards(t, p))
	c.blind = p.Conns == 0
	if c.guard == "" && !c.blind && e.hold.starved != "" {
		c.guard = GuardStarved
	}
	return c, true
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.s.duty(), a.s.duty()), cmp.Compare(a.t.last, b.t.last), cmp.Compare(a.t.prefix, b.t.prefix))
}

// compareStaying puts those first whose treatment is shown to help.
func compareStaying(a, b candidate) int {
	return cmp.Or(compareBools(a.t.chosen.State == StatePromoted, b.t.chosen.State == StatePromoted), compareCandidates(a, b))
}

func (e *Engine) choose(c candidate, d *Decision) {
	s := &Selected{Prefix: c.t.prefix, Since: d.RoundStart, Duty: c.s.duty(), Flap: c.s.flap(), PerfBytesPerS: c.t.last,
		Reason: fmt.Sprintf("duty %.2f flap %.2f perf %s n=%d", c.s.duty(), c.s.flap(), rateText(c.t.last), c.s.known)}
	e.enter(s, d.RoundStart)
	e.put(c.t, s)
	d.New++
	e.tell(d, EventSelected, c.t, "", c.t.chosen.Reason)
}

// refuse tells of guards that hold somebody back, once for each set of guards.
func (e *Engine) refuse(refused []candidate, d *Decision) {
	d.Refused = len(refused)
	told := 0
	for _, c := range refused {
		if c.t.refused == c.guard || told == maxRefusals {
			continue
		}
		told++
		c.t.refused = c.guard
		e.tell(d, EventRefused, c.t, c.guard, e.refusal(c.t, c.guard))
	}
}

func (e *Engine) release(d *Decision) {
	var stay []candidate
	for _, t := range e.tracks {
		if t.chosen == nil {
			continue
		}
		if reason, guard := e.leave(t); reason != "" {
			e.drop(t, guard, reason, d)
		} else if !e.advance(t, d) {
			stay = append(stay, candidate{t: t, s: t.standing()})
		}
	}
	// Only a cap that was lowered makes more of them than there may be.
	if len(stay) > e.rules.MaxSelected {
		slices.SortFunc(stay, compareStaying)
		for _, c := range stay[e.rules.MaxSelected:] {
			e.drop(c.t, "", fmt.Sprintf("more than %d selected", e.rules.MaxSelected), d)
		}
	}
}

func (e *Engine) drop(t *track, guard, reason string, d *Decision) {
	e.keepRow(t, d.RoundStart)
	e.put(t, nil)
	d.Released++
	e.tell(d, EventReleased, t, guard, reason)
}

// leave says why a selected prefix is released, "" if it stays.
func (e *Engine) leave(t *track) (reason, guard string) {
	s := t.standing()
	if guard = e.barred(t); guard != "" {
		return e.barredText(t), guard
	}
	switch {
	case e.hold.isDefault:
		return defaultReason, ""
	case e.silent(t):
		return fmt.Sprintf("nothing seen of it for %s: no evidence left", durationText(e.rules.MaxAgeSeconds)), ""
	case t.chosen.State != StatePromoted && s.known >= e.rules.MinKnown && s.duty() < e.rules.ReleaseDuty:
		return fmt.Sprintf("duty %.2f below %.2f over %d known windows", s.duty(), e.rules.ReleaseDuty, s.known), ""
	}
	return "", ""
}

func (e *Engine) tell(d *Decision, kind EventKind, t *track, guard, reason string) {
	x := e.explain(t)
	d.Events = append(d.Events, Event{RoundStart: d.RoundStart, Kind: kind, Prefix: t.prefix, Guard: guard, Reason: reason, Evidence: &x})
}
