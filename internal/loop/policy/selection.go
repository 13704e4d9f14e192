package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Selection by level, as the article of this project has it (promise.go has that by benefit):
//
//	in:  known >= MinKnown, duty >= SelectDuty, flap <= SelectFlap, no guard;
//	     by duty (highest first), performance (lowest first), prefix;
//	     at most MaxNewPerRound in a round and MaxSelected in all
//	out: known >= MinKnown and duty < ReleaseDuty; or denied; or silent for
//	     MaxAgeSeconds, when no evidence is left that it is in use at all
//
// Between ReleaseDuty and SelectDuty nothing changes: the gap keeps a prefix at the edge
// from going in and out.

const defaultReason = "the default congestion control is already the treatment: nothing to treat"

// candidate is a prefix that the level rules would select.
type candidate struct {
	t     *track
	s     standing
	guard string // names of the guards that keep it out; "" for none
	blind bool   // no control connection in the lookback to judge guards by

	// With selection by benefit only.
	b       belief
	busy    float64 // its traffic
	explore bool    // unlikely to gain, and tried to learn
}

// decide fills the selection up, when release has made room.
func (e *Engine) decide(d *Decision) {
	e.include(d)
	e.crop(d)
	chosen, trying := 0, map[record.Prefix]int{} // trying: by site
	for _, t := range e.tracks {
		if t.chosen != nil {
			chosen++
			if t.chosen.State == StateTrial {
				trying[t.prefix.Site()]++
			}
		}
	}
	room := d.New + min(e.rules.MaxNewPerRound-d.New, e.rules.MaxSelected-chosen)
	purse := e.purse()
	for _, c := range e.judgeAll(d) {
		if d.New >= room {
			return
		}
		site := c.t.prefix.Site()
		if e.rules.Experiment() && float64(trying[site]) >= e.siteShare*float64(e.rules.MaxSelected) {
			continue // waits until others of its site have been tried
		}
		if !e.affords(&purse, c) {
			continue // waits until others have shown what they gain
		}
		trying[site]++
		e.choose(c, d)
	}
}

// judgeAll returns the prefixes that may be selected, best reason first, and notes the refused ones.
func (e *Engine) judgeAll(d *Decision) (free []*candidate) {
	if e.in.TreatmentIsDefault {
		return nil
	}
	var refused []*candidate
	for _, t := range e.tracks {
		c, ok := e.candidate(t)
		switch {
		case !ok:
			t.refused = ""
		case c.guard != "":
			refused = append(refused, &c)
		case !c.blind:
			t.refused = ""
			free = append(free, &c)
		}
	}
	e.byPreference(free)
	e.byPreference(refused)
	e.refuse(refused, d)
	return free
}

// candidate reports whether level and history would select t, with its guards.
func (e *Engine) candidate(t *track) (c candidate, ok bool) {
	if _, listed := e.isAlways(t.prefix); listed || t.chosen != nil || len(t.history) < e.rules.Known() || e.isCooling(t.prefix, e.start(e.now)+e.rules.WindowSeconds) {
		return c, false
	}
	c, ok = e.wanted(t, e.networkOf(t))
	plain, alone := c, ok
	if e.networks != nil && e.rules.Select == SelectBenefit {
		plain, alone = e.wanted(t, "")
	}
	if !ok && !alone {
		return c, false
	}
	p := t.pool(e.now, e.rules)
	guard, blind := hits(e.guards(t, p)), p.Conns == 0
	if guard == "" && !blind && e.in.Starved != "" {
		guard = GuardStarved
	}
	if guard != "" || blind {
		c, ok = plain, alone && (e.rules.Select != SelectBenefit || plain.likely())
		// What was told of refusals must replay without names. Those that only a draw could try are no
		// refusals: most networks that nothing slows are among them.
	}
	c.guard, c.blind = guard, blind
	return c, ok
}

// wanted reports whether a prefix would be selected if no guard held it back.
func (e *Engine) wanted(t *track, network string) (c candidate, ok bool) {
	switch e.rules.Select {
	case SelectAll:
		return c, false // by itself
	case SelectBenefit:
		return e.promising(t, network)
	}
	c = candidate{t: t, s: t.standing()}
	return c, c.s.duty() >= e.rules.SelectDuty && c.s.flap() <= e.rules.SelectFlap
}

func compareCandidates(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.s.duty(), a.s.duty()), cmp.Compare(a.t.last, b.t.last), cmp.Compare(a.t.prefix, b.t.prefix))
}

// compareStaying orders listed prefixes first, then those whose treatment is believed to help.
func compareStaying(a, b *candidate) int {
	return cmp.Or(record.CompareBool(b.t.chosen.State == StateAlways, a.t.chosen.State == StateAlways),
		record.CompareBool(b.t.chosen.State == StatePromoted, a.t.chosen.State == StatePromoted), compareCandidates(a, b))
}

func (e *Engine) choose(c *candidate, d *Decision) {
	s := &Selected{Prefix: c.t.prefix, Since: d.RoundStart, Duty: c.s.duty(), Flap: c.s.flap(), PerfBytesPerS: c.t.last,
		Reason: fmt.Sprintf("%s, flap rate %.2f, %s", e.slowText(c.s), c.s.flap(), rateText(c.t.last))}
	if e.rules.Select == SelectBenefit {
		s.Reason, s.Class, s.Explored, s.Network = "tried because "+e.promiseText(c), c.b.class, c.explore, e.networkOf(c.t)
	}
	e.enter(s, d.RoundStart)
	e.put(c.t, s)
	d.New++
	e.tell(d, EventSelected, c.t, "", c.t.chosen.Reason)
}

// refuse reports guards that hold a prefix back, once for each set of guards.
func (e *Engine) refuse(refused []*candidate, d *Decision) {
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
	for _, t := range e.tracks {
		if t.chosen == nil {
			continue
		}
		switch reason, guard := e.leave(t); {
		case guard == "" && e.byAnother(t, reason) && !e.mayRelease(d):
			// in the next rounds: hosts refuse a larger change
		case reason != "":
			e.drop(t, guard, reason, d)
		default:
			e.advance(t, d)
		}
	}
}

// byAnother reports whether a prefix leaves that another selection had chosen: all of those may leave at once.
func (e *Engine) byAnother(t *track, reason string) bool {
	return reason == allReason || reason == benefitReason || reason != "" && !e.rules.Experiment() && t.chosen.Class != "" && !e.in.TreatmentIsDefault
}

func (e *Engine) drop(t *track, guard, reason string, d *Decision) {
	e.keepRow(t, d.RoundStart)
	e.put(t, nil)
	d.Released++
	e.tell(d, EventReleased, t, guard, reason)
}

// leave returns why a selected prefix is released, "" if it stays.
func (e *Engine) leave(t *track) (reason, guard string) {
	s := t.standing()
	if guard = e.barred(t); guard != "" {
		return e.held(t, e.listed(t), Pool{}), guard
	}
	switch {
	case e.in.TreatmentIsDefault:
		return defaultReason, ""
	case t.chosen.State == StateAlways:
		if _, ok := e.isAlways(t.prefix); !ok {
			return unlisted(t.prefix), ""
		}
		return "", ""
	case e.rules.Select == SelectAll:
		return allReason, ""
	case e.rules.Select == SelectBenefit && t.chosen.Class == "":
		return benefitReason, ""
	case e.silent(t):
		return fmt.Sprintf("not seen for %s: no evidence left", durationText(e.rules.MaxAgeSeconds)), ""
	case e.rules.Select == SelectSlowest && s.known >= e.rules.MinKnown && s.duty() < e.rules.ReleaseDuty:
		return fmt.Sprintf("%s, a duty cycle of %.2f (released below %.2f)", e.slowText(s), s.duty(), e.rules.ReleaseDuty), ""
	}
	return "", ""
}

// benefitReason ends what the level selected: what the treatment does to such a network was never believed.
const benefitReason = "policy.select is benefit, and this was selected by level"

// slowText says how steadily slow a prefix is.
func (e *Engine) slowText(s standing) string {
	return fmt.Sprintf("in the slowest %s in %d of %d known windows", percent(e.rules.GroupShare, 0), s.in, s.known)
}

func (e *Engine) tell(d *Decision, kind EventKind, t *track, guard, reason string) {
	x := e.explain(t)
	d.Events = append(d.Events, Event{RoundStart: d.RoundStart, Kind: kind, Prefix: t.prefix, Guard: guard, Reason: reason, Evidence: &x})
}

// Always: networks that the operator knows already. They need no level, no guard and
// no trial, and come into the plan before all others, also if nothing was ever seen of
// them. One control block in GroupPromoted keeps their level and their effect known,
// unless Rules.Uncontrolled. What they show ends nothing: only the list does. It counts
// for the noise and for the brake, which stops them like all others.
//
// The ramp holds for them, since the plan's readers refuse a larger change, and so do
// a frozen plan, an unknown window, a host short of CPU and the kill switch.

// isAlways reports whether a prefix is listed, and why.
func (e *Engine) isAlways(p record.Prefix) (reason string, yes bool) {
	reason, yes = e.always[p]
	return reason, yes
}

// include puts listed prefixes into the plan, as far as the ramp allows, and those that
// are in it in another state or for another reason into the one that is listed.
func (e *Engine) include(d *Decision) {
	if e.in.TreatmentIsDefault || e.in.Starved != "" {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(e.always)) {
		reason := e.always[p]
		t, _ := e.find(p)
		inPlan := t != nil && t.chosen != nil
		if inPlan && e.asListed(t.chosen, reason) || !inPlan && d.New >= e.rules.MaxNewPerRound {
			continue
		}
		if t == nil {
			t = e.insert(p)
		}
		s := &Selected{Prefix: p, Since: d.RoundStart, Reason: reason, State: StateAlways, Uncontrolled: e.rules.Uncontrolled,
			Duty: t.standing().duty(), Flap: t.standing().flap(), PerfBytesPerS: t.last}
		if inPlan {
			s.Pace = t.chosen.Pace
		}
		if e.measuresAlways() {
			s.From = e.nextBlock(d.RoundStart)
		}
		e.warm(p)
		e.put(t, s)
		if !inPlan {
			d.New++
		}
		e.tell(d, EventSelected, t, "", configuredText(reason))
	}
}

// asListed reports whether a prefix in the plan is what the list says it should be.
func (e *Engine) asListed(s *Selected, reason string) bool {
	return s.State == StateAlways && s.Reason == reason && s.Uncontrolled == e.rules.Uncontrolled && (s.From > 0) == e.measuresAlways()
}

// measuresAlways reports whether listed prefixes have blocks to make pairs of.
func (e *Engine) measuresAlways() bool { return e.rules.Experiment() && !e.rules.Uncontrolled }

// crop drops the weakest reasons beyond MaxSelected: a cap that was lowered, or a list
// that has become longer, makes more than there may be.
func (e *Engine) crop(d *Decision) {
	var stay []*candidate
	for _, t := range e.tracks {
		if t.chosen != nil {
			stay = append(stay, &candidate{t: t, s: t.standing()})
		}
	}
	if len(stay) <= e.rules.MaxSelected {
		return
	}
	slices.SortFunc(stay, compareStaying)
	for _, c := range stay[e.rules.MaxSelected:] {
		e.drop(c.t, "", fmt.Sprintf("more than %d selected", e.rules.MaxSelected), d)
	}
}

func configuredText(reason string) string { return "the configuration says so: " + reason }

func unlisted(p record.Prefix) string {
	if p == record.All {
		return "policy.select is no longer all"
	}
	return "no longer in treatment.always"
}
