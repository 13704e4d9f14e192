package popday

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is one promise of the loop, with its figure.
type Verdict struct {
	ID     string `json:"id"`
	Claim  string `json:"claim"`
	Answer Answer `json:"answer"`
	Text   string `json:"text"` // the figures
}

// Answer to a claim.
type Answer string

// Answers. What a run cannot tell is not a no.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "not enough data"
)

func answer(holds bool) Answer {
	if holds {
		return Yes
	}
	return No
}

// What must show.
const (
	leastSelected  = 3    // networks of a class, over all seeds
	leastPairs     = 9    // as the bootstrap over pairs wants
	leastEffect    = 2.0  // p10 goodput, treated blocks by control blocks
	leastEffectLow = 1.5  // its interval's lower end
	leastGain      = 1.12 // p10 goodput of all large responses by that of nothing treated: what the article reports
	// mostNew of the selected are new in a round: as if each stayed for 33 windows. A trial
	// alone may take 72.
	mostNew      = 0.03
	leastShare   = 0.40 // of the gain of everything treated, over the run: the ramp takes its first hours
	leastLate    = 0.60 // in the last two hours
	fewestRounds = 12   // after the ramp, to say how many are new
	tooFewLoops  = "no valid run of the policy loop"
)

// judging is what verdicts look at.
type judging struct {
	*Report
	in      *Input
	stories []*Story // of the loop
	loop    *PolicyRow
	full    *PolicyRow // everything treated
}

func verdicts(in *Input, rep *Report) (out []Verdict) {
	j := &judging{Report: rep, in: in, loop: rep.policy(loopPolicy), full: rep.policy(rep.Comparison.Treatment)}
	for i := range rep.Stories {
		if rep.Stories[i].Policy == loopPolicy {
			j.stories = append(j.stories, &rep.Stories[i])
		}
	}
	for _, rule := range []func(*judging) []Verdict{effectVerdicts, gainVerdict, coverVerdict, smallVerdict, guardVerdict, changingVerdict,
		plainVerdict, churnVerdict, shareVerdicts} {
		out = append(out, rule(j)...)
	}
	return out
}

// noRun says that a policy is missing.
func noRun(policy string) string {
	return fmt.Sprintf("no valid run of the policy %s with the same seed", policy)
}

// policy's row, nil where it has no valid run.
func (rep *Report) policy(name string) *PolicyRow {
	for i := range rep.Comparison.Policies {
		if p := &rep.Comparison.Policies[i]; p.Policy == name && len(p.Seeds) > 0 {
			return p
		}
	}
	return nil
}

func (j *judging) effect(label string) *Effect {
	i := slices.IndexFunc(j.Effects, func(e Effect) bool { return e.Label == label })
	if i < 0 {
		return nil
	}
	return &j.Effects[i]
}

// effectVerdicts are of each class that the treatment is made for, where it has enough;
// where one has not, of all such classes together.
func effectVerdicts(j *judging) (out []Verdict) {
	short := false
	for _, c := range j.Mix {
		if c.Kind != kindHelped {
			continue
		}
		if e := j.effect(c.Name); e != nil && e.enough() {
			out = append(out, effectVerdict(e, c.Name))
		} else {
			short = true
		}
	}
	if !short {
		return out
	}
	e := j.effect(pooledLabel)
	if e == nil { // one class alone has pairs, or none has
		i := slices.IndexFunc(j.Effects, func(e Effect) bool { return j.kindOfClass(e.Label) == kindHelped })
		if i < 0 {
			return append(out, Verdict{"a", claimEffect("the helped classes"), Unknown, "no pairs"})
		}
		e = &j.Effects[i]
	}
	if slices.ContainsFunc(out, func(v Verdict) bool { return v.Claim == claimEffect(e.Label) }) {
		return out
	}
	return append(out, effectVerdict(e, e.named()))
}

func (e *Effect) enough() bool { return e.Chosen >= leastSelected && e.Goodput.Pairs >= leastPairs }

// named is the label in a sentence.
func (e *Effect) named() string {
	if len(e.Classes) == 1 {
		return e.Label
	}
	return strings.Join(e.Classes, " and ") + " together"
}

func claimEffect(of string) string {
	return fmt.Sprintf("p10 goodput on treated blocks of %s is at least %.1f times that of control blocks, its interval above %.1f", of, leastEffect, leastEffectLow)
}

func effectVerdict(e *Effect, of string) Verdict {
	b := e.Goodput.P10
	v := Verdict{"a", claimEffect(of), Unknown, fmt.Sprintf("%s, %d pairs of %d chosen networks", words(b.Ratio, b.Interval), e.Goodput.Pairs, e.Chosen)}
	if e.enough() && b.Interval != nil {
		v.Answer = answer(b.Ratio >= leastEffect && b.Interval.Low > leastEffectLow)
	}
	return v
}

// words are "2.13 [1.80, 2.51]".
func words(value float64, i *Interval) string {
	if i == nil {
		if value == 0 {
			return "not known"
		}
		return fmt.Sprintf("%.2f, no interval", value)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", i.Value, i.Low, i.High)
}

func percentWords(i *Interval) string {
	return fmt.Sprintf("%+.1f %% [%+.1f, %+.1f]", 100*(i.Value-1), 100*(i.Low-1), 100*(i.High-1))
}

func shareWords(i *Interval) string {
	return fmt.Sprintf("%.0f %% [%.0f, %.0f]", 100*i.Value, 100*i.Low, 100*i.High)
}

func gainVerdict(j *judging) []Verdict {
	v := Verdict{"b", fmt.Sprintf("p10 goodput over all large responses is at least %+.0f %% against %s, its interval above 0", 100*(leastGain-1), All(j.Comparison.Default)), Unknown, tooFewLoops}
	if j.loop != nil {
		v.Text = noRun(j.Comparison.Default)
		if r := j.loop.Large.P10.Ratio; r != nil && j.harms() {
			v.Text = j.noGain("")
		} else if r != nil {
			v.Answer, v.Text = answer(r.Value >= leastGain && r.Low > 1), percentWords(r)
			if o := j.loop.Large.P10.Other; o != nil {
				v.Text += fmt.Sprintf("; over whole networks [%+.1f, %+.1f]", 100*(o.Low-1), 100*(o.High-1))
			}
		}
	}
	return []Verdict{v}
}

// harms tells whether everything treated has a p10 goodput below that of nothing treated:
// then there is nothing for the loop to gain.
func (j *judging) harms() bool {
	return j.full != nil && j.full.Large.P10.Ratio != nil && j.full.Large.P10.Ratio.High < 1
}

// noGain says so, or what is missing.
func (j *judging) noGain(missing string) string {
	if j.loop == nil || !j.harms() {
		return missing
	}
	return fmt.Sprintf("%s; %s %s", percentWords(j.loop.Large.P10.Ratio), All(j.full.Policy), percentWords(j.full.Large.P10.Ratio))
}

// coverVerdict is of the widest set of classes that the treatment is made for; the
// others are told. One class in twenty misses its truth where nothing is wrong.
func coverVerdict(j *judging) []Verdict {
	const claim = "the interval of the randomised estimate of p10 goodput covers the truth of the same networks and hours: "
	return []Verdict{
		j.cover("c1", claim+All(j.Comparison.Treatment)+" by "+All(j.Comparison.Default), func(e *Effect) []Truth { return e.Truth }),
		j.cover("c2", claim+"every large response switched at 100,000 bytes (the policy switch; a model where it did not run)", func(e *Effect) []Truth { return e.Switched }),
	}
}

func (j *judging) cover(id, claim string, of func(*Effect) []Truth) Verdict {
	v := Verdict{id, claim, Unknown, "no pairs with an interval and a truth beside them"}
	var texts []string
	for i := range j.Effects {
		e := &j.Effects[i]
		list := of(e)
		if len(list) == 0 || list[0].Covered == nil {
			continue
		}
		word := "missed"
		if *list[0].Covered {
			word = "covered"
		}
		texts = append(texts, fmt.Sprintf("%s: estimate %s, truth %.2f, %s", e.Label, words(e.Goodput.P10.Ratio, e.Goodput.P10.Interval), list[0].Ratio.Value, word))
		if e.Label == pooledLabel || j.effect(pooledLabel) == nil && j.kindOfClass(e.Label) == kindHelped {
			v.Answer = answer(*list[0].Covered)
		}
	}
	if texts != nil {
		v.Text = strings.Join(texts, "; ")
	}
	return v
}

func (j *judging) kindOfClass(name string) kind {
	i := slices.IndexFunc(j.Mix, func(c Class) bool { return c.Name == name })
	if i < 0 {
		return ""
	}
	return j.Mix[i].Kind
}

func smallVerdict(j *judging) []Verdict {
	v := Verdict{"d", "no fresh response below 100 kB ended on another congestion control than the default", Unknown, tooFewLoops}
	if j.loop == nil {
		return []Verdict{v}
	}
	s := &j.loop.Small
	if b := j.Experiment.MinBytes; b < LargeBytes {
		v.Text = fmt.Sprintf("with a min_bytes of %d every response may be switched: %d of %d were", b, s.Other, s.Responses)
		return []Verdict{v}
	}
	v.Answer, v.Text = answer(s.Other == 0), fmt.Sprintf("%d of %d", s.Other, s.Responses)
	if d := s.DifferenceUs; d != nil {
		v.Text += fmt.Sprintf("; their p50 differs from %s's by %+.2f ms [%+.2f, %+.2f] of %.1f ms", All(j.Comparison.Default), d.Value/1e3, d.Low/1e3, d.High/1e3, s.P50Us/1e3)
	}
	return []Verdict{v}
}
