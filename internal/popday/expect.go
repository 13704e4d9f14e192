package popday

import (
	"fmt"
	"math"
	"strings"

	"github.com/congctl/congctl/internal/popday/pop"
)

// Expected is what the day's file expects of one measure of a loop, and what the runs show.
type Expected struct {
	Policy   string `json:"policy"`
	Measure  string `json:"measure"`
	Of       string `json:"of,omitempty"` // a class
	About    string `json:"about"`
	Bound    string `json:"expected"`
	Answer   Answer `json:"answer"`
	Measured string `json:"measured"`
}

// Answer reports whether an expectation holds.
type Answer string

// Answers. What a run cannot answer is not a no.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "not enough data"
)

// figure is the value of a measure.
type figure struct {
	value    float64   // NaN: not enough data
	interval *Interval // nil: the measure has none
	note     string
}

func (f *figure) answer(e *pop.Expectation) Answer {
	switch {
	case math.IsNaN(f.value) || e.Above != nil && f.interval == nil:
		return Unknown
	case e.Least != nil && f.value < *e.Least, e.Most != nil && f.value > *e.Most, e.Above != nil && f.interval.Low <= *e.Above:
		return No
	}
	return Yes
}

// boundText is a bound as the day's file has it, as 1.5 or 40 %.
func boundText(measure string, v float64) string {
	switch m := pop.Measures[measure]; {
	case m.Share:
		return fmt.Sprintf("%g %%", 100*v)
	case m.Hours:
		return fmt.Sprintf("%g h", v)
	}
	return fmt.Sprintf("%g", v)
}

func boundWords(e *pop.Expectation) string {
	var parts []string
	for _, b := range []struct {
		word string
		at   *float64
	}{{"at least ", e.Least}, {"at most ", e.Most}, {"interval above ", e.Above}} {
		if b.at != nil {
			parts = append(parts, b.word+boundText(e.Measure, *b.at))
		}
	}
	return strings.Join(parts, ", ")
}

func (f *figure) words(measure string) string {
	m, text := pop.Measures[measure], "-"
	format, unit, scale := "%.0f", "", 1.0
	switch {
	case m.Share:
		format, unit, scale = "%.1f", " %", 100
	case m.Hours:
		format, unit = "%.1f", " h"
	case m.Interval:
		format = "%.2f"
	}
	if !math.IsNaN(f.value) {
		text = fmt.Sprintf(format, scale*f.value) + unit
	}
	if i := f.interval; i != nil {
		text += fmt.Sprintf(" ["+format+", "+format+"]", scale*i.Low, scale*i.High)
	}
	if f.note != "" {
		text += " (" + f.note + ")"
	}
	return text
}

// expected compares a loop with what the day's file expects of it. What the runs cannot be
// asked, since the one to compare with is missing, has no line.
func expected(in *Input, rep *Report, loop string) (out []Expected) {
	j := &judging{Report: rep, in: in, loop: rep.Policy(loop), full: rep.Policy(rep.Comparison.Treatment)}
	if j.loop == nil {
		return nil
	}
	for i := range rep.Stories {
		if rep.Stories[i].Policy == loop {
			j.stories = append(j.stories, &rep.Stories[i])
		}
	}
	for i := range in.Day.Expect {
		e := &in.Day.Expect[i]
		if f := measures[e.Measure](j, e.Of); f != nil {
			out = append(out, Expected{loop, e.Measure, e.Of, pop.Measures[e.Measure].About, boundWords(e), f.answer(e), f.words(e.Measure)})
		}
	}
	return out
}

// Policy returns a policy's row, nil if it has no valid run.
func (rep *Report) Policy(name string) *PolicyRow {
	for i := range rep.Comparison.Policies {
		if p := &rep.Comparison.Policies[i]; p.Policy == name && len(p.Seeds) > 0 {
			return p
		}
	}
	return nil
}
