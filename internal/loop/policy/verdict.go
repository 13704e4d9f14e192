package policy

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/tcp/record"
)

// verdict says in sentences what follows, by the same tests as the decision.
func (e *Engine) verdict(t *track, s standing) []string {
	if t.chosen != nil {
		return e.verdictSelected(t, s)
	}
	if reason, listed := e.isAlways(t.prefix); listed {
		return e.verdictListed(reason)
	}
	r := e.rules
	in := e.slowText(s)
	switch {
	case r.Select == SelectAll:
		return e.verdictAll(t)
	case s.known < r.Known():
		return []string{fmt.Sprintf("Not treated: %s; a decision needs at least %d.", answer.Count(s.known, "known window"), r.Known())}
	case r.Select == SelectBenefit:
		return e.verdictPromise(t)
	case s.duty() < r.SelectDuty:
		return []string{fmt.Sprintf("Not treated: %s, a duty cycle of %.2f; at least %.2f is needed.", in, s.duty(), r.SelectDuty)}
	case s.flap() > r.SelectFlap:
		return []string{fmt.Sprintf("Not treated: %s, but %s.", in, e.flapText(s))}
	}
	return []string{fmt.Sprintf("Slow enough to be treated: %s, a duty cycle of %.2f.", in, s.duty()), e.delay(t)}
}

// verdictPromise is verdict for selection by benefit.
func (e *Engine) verdictPromise(t *track) []string {
	if why := e.unpromising(t); why != "" {
		return []string{why}
	}
	c, _ := e.promising(t, e.networkOf(t))
	return []string{"Worth a trial: " + e.promiseText(&c) + ".", e.delay(t)}
}

// delay says why a prefix that is wanted is not selected.
func (e *Engine) delay(t *track) string {
	if c, round := e.cooling[t.prefix], e.start(e.now)+e.rules.WindowSeconds; round < c.Until {
		return fmt.Sprintf("Not treated: it was tried and cools down until %s.", timeText(c.Until))
	}
	return e.obstacle(t)
}

// obstacle says why a prefix that is slow enough is not selected.
func (e *Engine) obstacle(t *track) string {
	c, _ := e.candidate(t)
	wait := e.waits()
	switch {
	case e.in.TreatmentIsDefault:
		return wait
	case c.guard != "":
		return "Not treated: " + e.refusal(t, c.guard) + "."
	case c.blind:
		return "Waits: no eligible control connection in the last " + durationText(e.rules.LookbackSeconds) + " to check the guards with."
	case wait != "":
		return wait
	}
	return fmt.Sprintf("Waits for room: at most %d new prefixes in a round and %d in all.", e.rules.MaxNewPerRound, e.rules.MaxSelected)
}

func (e *Engine) verdictSelected(t *track, s standing) []string {
	v := []string{fmt.Sprintf("Treated since %s: %s.", timeText(t.chosen.Since), t.chosen.Reason)}
	if t.chosen.State == StateAlways {
		v = e.verdictAlways(t)
	} else if t.trial != nil {
		v = e.verdictTried(t)
	}
	switch reason, _ := e.leave(t); {
	case reason != "": // only a held plan keeps it
		v = append(v, "Will be released: "+reason+".")
	case t.chosen.State == StateAlways || e.rules.Experiment(): // the level does not matter
	case s.known < e.rules.MinKnown:
		v = append(v, fmt.Sprintf("Stays: %s; a decision needs at least %d.", answer.Count(s.known, "known window"), e.rules.MinKnown))
	default:
		v = append(v, fmt.Sprintf("Stays: its duty cycle of %.2f under the default congestion control is not below %.2f.", s.duty(), e.rules.ReleaseDuty))
	}
	if e.boundaryOnly(t) {
		v = append(v, "Treated connections say nothing about its level: in this window it counts for the boundary with its last known control performance.")
	}
	return v
}

// refusal is the guards' reasons in one line.
func (e *Engine) refusal(t *track, names string) string {
	if names == GuardStarved {
		return "no new selections: " + e.in.Starved
	}
	p := t.pool(e.now, e.rules)
	return e.held(t, e.guards(t, p), p)
}

// held joins the texts of the guards that hold a prefix back.
func (e *Engine) held(t *track, list []Guard, p Pool) string {
	var texts []string
	for _, g := range list {
		if g.holds() {
			texts = append(texts, e.guardText(g, t, p))
		}
	}
	return strings.Join(texts, "; ")
}

// verdictTried says what follows for a prefix in the plan, by the same tests as the decision.
func (e *Engine) verdictTried(t *track) []string {
	s, r := t.chosen, e.rules.Trial
	switch {
	case s.Role == record.ArmHoldout:
		return []string{fmt.Sprintf("In the hold-out since %s: it would be on trial, but is never treated.", timeText(s.Since))}
	case s.Role == record.ArmAA:
		return []string{fmt.Sprintf("A/A since %s: judged as if treated, but never treated; it must show no effect.", timeText(s.Since)), e.prospect(t)}
	case s.State == StatePromoted:
		return []string{fmt.Sprintf("Promoted since %s: %s.", timeText(s.Since), s.Reason),
			fmt.Sprintf("Treated in %d of %d blocks; in the other one no network of the PoP is.", r.GroupPromoted-1, r.GroupPromoted), e.prospect(t), e.claimText(t)}
	}
	return []string{fmt.Sprintf("On trial since %s: %s.", timeText(s.Since), s.Reason),
		fmt.Sprintf("Treated in %d of %d blocks.", r.GroupTrial-1, r.GroupTrial), e.prospect(t), e.claimText(t)}
}

func (e *Engine) prospect(t *track) string {
	switch v := t.trial.verdict; {
	case v.kind == EventPromoted:
		return "Will be promoted: " + v.reason + "."
	case v.kind == EventRetrial:
		return "Will go back on trial: " + v.reason + "."
	case v.kind != "":
		return "Will leave: " + v.reason + "."
	case t.chosen.teaches():
		return e.belief(t)
	}
	return "Its pairs so far: " + effectText(t.trial.evidence) + "."
}

// verdictAlways says what follows for a listed prefix in the plan.
func (e *Engine) verdictAlways(t *track) []string {
	s := t.chosen
	v := []string{fmt.Sprintf("Treated because the configuration says so: %s.", s.Reason)}
	if s.Prefix == record.All {
		v = append(v, fmt.Sprintf("In the plan since %s; harm to all, or cost without a gain, pulls the brake.", timeText(s.Since)))
		if v = append(v, e.blocksText(s)); t.trial != nil {
			v = append(v, "All networks together: "+effectText(t.trial.evidence)+".", e.claimText(t))
		}
		return v
	}
	v = append(v, fmt.Sprintf("In the plan since %s, in treatment.always; measurements do not end it.", timeText(s.Since)))
	switch {
	case s.Uncontrolled:
		return append(v, "Treated in every block, so its effect is not known: treatment.control is off.")
	case t.trial == nil:
		return append(v, "One block in each group is a control block.")
	}
	v = append(v, fmt.Sprintf("Treated in %d of %d blocks: %s.", e.rules.Trial.GroupPromoted-1, e.rules.Trial.GroupPromoted, effectText(t.trial.evidence)), e.claimText(t))
	if t.trial.shown().LogEHarm() >= needed {
		v = append(v, "The treatment is shown to harm it: take it off treatment.always.")
	}
	return v
}

// verdictListed says why a listed prefix is not in the plan yet.
func (e *Engine) verdictListed(reason string) []string {
	wait := e.waits()
	switch {
	case wait != "":
	case e.in.Starved != "":
		wait = "Waits: no new selections: " + e.in.Starved + "."
	default:
		wait = fmt.Sprintf("Waits for room: the limit is %d new networks per round.", e.rules.MaxNewPerRound)
	}
	return []string{"To be treated because " + configuredText(reason) + ".", wait}
}

// waits says why no prefix at all is selected in this round; "" if some may be.
func (e *Engine) waits() string {
	switch {
	case e.in.TreatmentIsDefault:
		return "Not treated: " + defaultReason + "."
	case e.in.Stopped:
		return "Waits: treatment is stopped, or all hosts only observe."
	case e.in.Frozen:
		return "Waits: the plan is frozen."
	case e.in.Unknown != "":
		return "Waits: this window is unknown, so nothing is decided: " + e.in.Unknown + "."
	}
	return ""
}

func (e *Engine) flapText(s standing) string {
	return fmt.Sprintf("it went in or out %d times, a flap rate of %.2f; at most %.2f is allowed", s.changes, s.flap(), e.rules.SelectFlap)
}
