package popday

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// judging is what measures are made of.
type judging struct {
	*Report
	in      *Input
	stories []*Story // of the loop in question
	loop    *PolicyRow
	full    *PolicyRow // everything treated; nil if it was not run
}

// measures of pop.Measures; nil where the runs cannot be asked.
var measures = map[string]func(j *judging, of string) *figure{
	"effect":              (*judging).effect,
	"gain":                func(j *judging, _ string) *figure { return ofInterval(j.loop.Large.P10.Ratio) },
	"gain_share":          func(j *judging, _ string) *figure { return ofInterval(j.loop.GainShare) },
	"gain_share_late":     func(j *judging, _ string) *figure { return ofInterval(j.loop.GainShareLate) },
	"truth_missed":        func(j *judging, _ string) *figure { return j.missed(func(e *Effect) []Truth { return e.Truth }) },
	"switch_missed":       func(j *judging, _ string) *figure { return j.missed(func(e *Effect) []Truth { return e.Switched }) },
	"gain_of_switch":      func(j *judging, _ string) *figure { return ofInterval(j.loop.SwitchShare) },
	"gain_of_switch_late": func(j *judging, _ string) *figure { return ofInterval(j.loop.SwitchShareLate) },
	"gain_hours":          (*judging).gainHours,
	"new_share":           (*judging).newShare,
	"selected":            func(j *judging, class string) *figure { return j.networks(class, (*Story).selected) },
	"treated": func(j *judging, class string) *figure {
		return j.networks(class, func(s *Story) []int { return s.Treated })
	},
	"promoted":        func(j *judging, class string) *figure { return j.networks(class, (*Story).promoted) },
	"guarded_treated": (*judging).guarded,
	"harmed":          (*judging).harmed,
	"harmed_long":     (*judging).harmedLong,
	"neighbour_loss":  (*judging).neighbourLoss,
	"vain":            func(j *judging, _ string) *figure { return ofValue(j.loop.Vain, "") },
	"extra_resent":    (*judging).extraResent,
	"resent_ratio":    (*judging).resentRatio,
	"kept":            (*judging).kept,
	"kept_worst":      (*judging).keptWorst,
	"precision": func(j *judging, _ string) *figure {
		return j.signature(func(s *Signature) *float64 { return s.Precision })
	},
	"recall": func(j *judging, _ string) *figure {
		return j.signature(func(s *Signature) *float64 { return s.Recall })
	},
	"small_treated": (*judging).small,
	"resent":        (*judging).resent,
}

func ofInterval(i *Interval) *figure {
	if i == nil {
		return nil
	}
	return &figure{value: i.Value, interval: i}
}

// helped returns the effect in the classes that the treatment is made for: together, or in the
// only one that has pairs.
func (j *judging) helped() *Effect {
	for _, wanted := range []func(Effect) bool{func(e Effect) bool { return e.Label == pooledLabel },
		func(e Effect) bool { return j.kindOfClass(e.Label) == kindHelped }} {
		if i := slices.IndexFunc(j.Effects, func(e Effect) bool { return e.Policy == j.loop.Policy && wanted(e) }); i >= 0 {
			return &j.Effects[i]
		}
	}
	return nil
}

func (j *judging) effect(class string) *figure {
	e := j.helped()
	if class != "" {
		i := slices.IndexFunc(j.Effects, func(e Effect) bool { return e.Policy == j.loop.Policy && e.Label == class })
		if e = nil; i >= 0 {
			e = &j.Effects[i]
		}
	}
	if e == nil {
		return &figure{value: math.NaN(), note: "no pairs"}
	}
	f := &figure{value: e.Goodput.P10.Ratio, interval: e.Goodput.P10.Interval, note: fmt.Sprintf("%d pairs of %d networks", e.Goodput.Pairs, e.Chosen)}
	if f.interval == nil || e.Chosen < leastChosen || e.Goodput.Pairs < leastPairs {
		f.value = math.NaN()
	}
	return f
}

// Below these an estimate is of single networks, not of a class: three of them, three pairs each.
const (
	leastChosen = 3 // networks
	leastPairs  = 9
)

// missed is 1 where the interval of the helped classes' estimate misses the truth. Of the
// other classes it says nothing: one interval in twenty misses where nothing is wrong.
func (j *judging) missed(of func(*Effect) []Truth) *figure {
	// Of other seeds the truth is another day's.
	if j.full == nil || j.Comparison.Reference == "" || !slices.Equal(j.loop.Seeds, j.full.Seeds) {
		return nil
	}
	e := j.helped()
	if e == nil || len(of(e)) == 0 || of(e)[0].Covered == nil {
		return &figure{value: math.NaN(), note: "no estimate to compare with a truth"}
	}
	truth, i := of(e)[0], e.Goodput.P10.Interval
	f := &figure{note: fmt.Sprintf("%s: estimate %.2f [%.2f, %.2f], truth %.2f", e.Label, i.Value, i.Low, i.High, truth.Ratio.Value)}
	if !*truth.Covered {
		f.value = 1
	}
	return f
}

func (j *judging) kindOfClass(name string) kind {
	i := slices.IndexFunc(j.Mix, func(c Class) bool { return c.Name == name })
	if i < 0 {
		return ""
	}
	return j.Mix[i].Kind
}

func (j *judging) harmed(string) *figure {
	if j.loop.Networks == 0 {
		return nil
	}
	f := &figure{value: float64(j.loop.Harmed), note: fmt.Sprintf("of %d", j.loop.Networks)}
	if j.full != nil {
		f.note += fmt.Sprintf("; %d with everything treated", j.full.Harmed)
	}
	return f
}

func (j *judging) resent(string) *figure {
	if j.full == nil || !slices.Equal(j.loop.Seeds, j.full.Seeds) {
		return nil
	}
	mine, all := float64(j.loop.Cost.RetransBytes), float64(j.full.Cost.RetransBytes)
	return &figure{value: mine / all, note: fmt.Sprintf("%.1f MB of %.1f MB", mine/1e6, all/1e6)}
}

// small is not asked of a loop that may switch every response.
func (j *judging) small(string) *figure {
	if j.Experiment.MinBytes < LargeBytes {
		return nil
	}
	return &figure{value: float64(j.loop.Small.Other), note: fmt.Sprintf("of %d", j.loop.Small.Responses)}
}

// networks counts those of a class, or all, that the stories' lists have.
func (j *judging) networks(class string, of func(*Story) []int) *figure {
	var found []string
	for _, s := range j.stories {
		for _, n := range of(s) {
			if c := j.Networks[n].Class; class == "" || c == class {
				found = append(found, fmt.Sprintf("%s %d of seed %d", c, n, s.Seed))
			}
		}
	}
	return &figure{value: float64(len(found)), note: strings.Join(found, ", ")}
}

// fewestRounds after the ramp, to judge how many networks are new.
const fewestRounds = 12

func (j *judging) newShare(string) *figure {
	added, members, rounds := 0, 0, 0
	for _, s := range j.stories {
		added, members = added+s.NewAfterRamp, members+s.Memberships
		for _, r := range s.Rounds {
			if r.AtS > s.RampS {
				rounds++
			}
		}
	}
	f := &figure{value: float64(added) / float64(members), note: fmt.Sprintf("%d new in %d rounds", added, rounds)}
	if rounds < fewestRounds {
		f.value = math.NaN()
	}
	return f
}
