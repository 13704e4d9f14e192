package popday

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/policy"
)

// Verdicts on whom the loop chose.

// none is the verdict without a loop.
func none(id, claim string) []Verdict { return []Verdict{{id, claim, Unknown, tooFewLoops}} }

// guardVerdict: those that a guard refused, by the store's own events, and those that
// the day limits by something else than the path.
func guardVerdict(j *judging) []Verdict {
	claim := "networks that a guard keeps out were never treated"
	if len(j.stories) == 0 {
		return none("e", claim)
	}
	var refused, bad []string
	unseen := map[string]bool{}
	for _, c := range j.Mix {
		if c.Kind == kindGuarded {
			unseen[c.Name] = true
		}
	}
	for _, s := range j.stories {
		for _, r := range s.Refused {
			delete(unseen, r.Class)
			refused = append(refused, fmt.Sprintf("%s %d (%s)", r.Class, r.Network, r.Guards))
		}
		for n, net := range j.Networks {
			guarded := j.kindOfClass(net.Class) == kindGuarded || slices.ContainsFunc(s.Refused, func(r Refusal) bool { return r.Network == n })
			if guarded && slices.Contains(s.Treated, n) {
				bad = append(bad, fmt.Sprintf("%s %d of seed %d", net.Class, n, s.Seed))
			}
		}
	}
	v := Verdict{"e", claim, answer(len(bad) == 0), "refused by a guard: " + listed(refused)}
	if len(unseen) > 0 {
		v.Text += "; never slow enough to be refused: " + listed(keys(unseen))
	}
	if len(bad) > 0 {
		v.Text += "; TREATED: " + listed(bad)
	} else if len(refused) == 0 {
		v.Answer = Unknown
	}
	return []Verdict{v}
}

func keys(m map[string]bool) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// listed has each name once, with how often it came.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	count := map[string]int{}
	var order []string
	for _, n := range names {
		if count[n] == 0 {
			order = append(order, n)
		}
		count[n]++
	}
	for i, n := range order {
		if count[n] > 1 {
			order[i] = fmt.Sprintf("%s x %d", n, count[n])
		}
	}
	return strings.Join(order, ", ")
}

// changingVerdict: a bad stretch that is long enough to decide on may get its network
// chosen while it lasts; nothing else may.
func changingVerdict(j *judging) []Verdict {
	claim := "networks that are bad for a window, in and out, or once for a while, were not selected (but during a first bad stretch that is long enough to decide on)"
	if len(j.stories) == 0 {
		return none("f", claim)
	}
	var bad, during []string
	for _, s := range j.stories {
		for i := range s.Spans {
			sp := &s.Spans[i]
			if j.kindOfClass(sp.Class) != kindChanging || !sp.counts() {
				continue
			}
			text := fmt.Sprintf("%s of seed %d at %s", sp.Class, s.Seed, Clock(sp.FromS))
			if from, to := j.firstStretch(sp.Class); sp.FromS >= from && sp.FromS < to {
				during = append(during, text)
			} else {
				bad = append(bad, text)
			}
		}
	}
	v := Verdict{"f", claim, answer(len(bad) == 0), "selected: " + listed(bad)}
	if len(during) > 0 {
		v.Text += "; during the first bad stretch: " + listed(during)
	}
	return []Verdict{v}
}

// firstStretch of a class, if it is long enough to decide on, seconds of the day.
func (j *judging) firstStretch(class string) (from, to int64) {
	for _, c := range j.in.Day.Classes {
		if c.Name != class || len(c.Whens) == 0 {
			continue
		}
		w := c.Whens[0]
		if least := int64(j.Experiment.MinKnown) * j.Experiment.WindowS; int64(w.ForUs/1e6) >= least {
			return int64(w.FromUs / 1e6), int64((w.FromUs + w.ForUs) / 1e6)
		}
	}
	return 0, 0
}

// Clock is a time of the day as 1:05:30.
func Clock(s int64) string { return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60) }

// plainVerdict: what is slow and clean cannot be helped.
func plainVerdict(j *judging) []Verdict {
	claim := "slow but clean networks that went on trial were retired or released, none was promoted"
	if len(j.stories) == 0 {
		return none("g", claim)
	}
	var tried, left, open, promoted []string
	for _, s := range j.stories {
		for i := range s.Spans {
			sp := &s.Spans[i]
			if j.kindOfClass(sp.Class) != kindPlain || !sp.counts() {
				continue
			}
			name := fmt.Sprintf("%s %d of seed %d", sp.Class, sp.Network, s.Seed)
			switch {
			case sp.State == string(policy.StatePromoted):
				promoted = append(promoted, name)
			case sp.End == dayEnd:
				open = append(open, name)
			default:
				left = append(left, sp.Class+" "+sp.End)
			}
			tried = append(tried, name)
		}
	}
	v := Verdict{"g", claim, answer(len(promoted) == 0), fmt.Sprintf("ended: %s; on trial at the day's end: %s; promoted: %s", listed(left), listed(open), listed(promoted))}
	if len(promoted) == 0 && len(left) == 0 {
		v.Answer = Unknown
	}
	if len(tried) == 0 {
		v.Text = "none went on trial"
	}
	return []Verdict{v}
}

func churnVerdict(j *judging) []Verdict {
	claim := fmt.Sprintf("after the ramp few networks are new in a round: at most %.0f %% of the selected", 100*mostNew)
	if len(j.stories) == 0 {
		return none("h", claim)
	}
	v := Verdict{"h", claim, Unknown, ""}
	added, members, rounds := 0, 0, 0
	for _, s := range j.stories {
		added, members = added+s.NewAfterRamp, members+s.Memberships
		for _, r := range s.Rounds {
			if r.AtS > s.RampS {
				rounds++
			}
		}
	}
	v.Text = fmt.Sprintf("%d new in %d rounds after the ramp", added, rounds)
	if rounds >= fewestRounds && members > 0 {
		new := float64(added) / float64(members)
		v.Answer = answer(new <= mostNew)
		v.Text += fmt.Sprintf(" with %.1f selected on average: %.1f %% a round", float64(members)/float64(rounds), 100*new)
	}
	return []Verdict{v}
}

// shareVerdicts hold the loop against everything treated.
func shareVerdicts(j *judging) (out []Verdict) {
	say := func(id, claim string, known bool, holds func() bool, text func() string, missing string) {
		v := Verdict{id, claim, Unknown, missing}
		if known {
			v.Answer, v.Text = answer(holds()), text()
		}
		out = append(out, v)
	}
	l, b, base, full := j.loop, j.full, All(j.Comparison.Default), All(j.Comparison.Treatment)
	ofBase, ofFull := noRun(j.Comparison.Default), noRun(j.Comparison.Treatment)+", or it gains nothing for sure"
	if l == nil {
		ofBase, ofFull = tooFewLoops, tooFewLoops
	}
	both := l != nil && b != nil && slices.Equal(l.Seeds, b.Seeds)
	ref := both && j.Comparison.Reference != ""
	say("i1", fmt.Sprintf("at least %.0f %% of %s's p10 gain over the run", 100*leastShare, full), l != nil && l.GainShare != nil,
		func() bool { return l.GainShare.Value >= leastShare }, func() string { return shareWords(l.GainShare) }, ofFull)
	say("i2", fmt.Sprintf("at least %.0f %% of it from %s on", 100*leastLate, Clock(int64(j.Comparison.LateFromS))), l != nil && l.GainShareLate != nil,
		func() bool { return l.GainShareLate.Value >= leastLate }, func() string { return shareWords(l.GainShareLate) }, ofFull)
	harms := ref && b.Harmed > 0 // fewer than none cannot be
	say("i3", "fewer networks harmed than under "+full, harms, func() bool { return l.Harmed < b.Harmed },
		func() string { return fmt.Sprintf("%d against %d, of %d", l.Harmed, b.Harmed, b.Networks) }, noHarm(l, b, ofFull))
	say("i4", "fewer bytes retransmitted than under "+full, both, func() bool { return l.Cost.RetransBytes < b.Cost.RetransBytes },
		func() string {
			return fmt.Sprintf("%.1f MB against %.1f MB (%.2f %% against %.2f %% of what was sent)", float64(l.Cost.RetransBytes)/1e6, float64(b.Cost.RetransBytes)/1e6,
				100*l.Cost.RetransShare, 100*b.Cost.RetransShare)
		}, ofFull)
	say("i5", "p10 goodput above "+base+"'s", l != nil && l.Large.P10.Ratio != nil && !j.harms(), func() bool { return l.Large.P10.Ratio.Value > 1 },
		func() string { return percentWords(l.Large.P10.Ratio) }, j.noGain(ofBase))
	return out
}

// noHarm says why there is no answer where everything treated harmed nobody.
func noHarm(l, b *PolicyRow, missing string) string {
	switch {
	case l == nil:
		return tooFewLoops
	case b == nil:
		return missing
	}
	return fmt.Sprintf("%s harmed none of %d; the loop %d", All(b.Policy), b.Networks, l.Harmed)
}
