package popreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/popday"
)

// loopPart is who was chosen when.
func loopPart(r *popday.Report) part {
	p := part{ID: "loop", Title: "The loop"}
	if len(r.Stories) == 0 {
		p.Words = []string{"No valid run with congctl."}
		return p
	}
	for i := range r.Stories {
		s := &r.Stories[i]
		p.Words = append(p.Words, storyWords(s))
		p.Tables = append(p.Tables, spanTable(s))
	}
	p.Figures = loopFigures(r)
	return p
}

func storyWords(s *popday.Story) string {
	text := fmt.Sprintf("%s, seed %d: ", s.Policy, s.Seed)
	if s.FirstTreatedS == nil {
		return text + "nobody was chosen."
	}
	text += fmt.Sprintf("first treated from %s on; %d new after the ramp of %s, %.1f %% of the selected in a round", popday.Clock(*s.FirstTreatedS),
		s.NewAfterRamp, duration(s.RampS), 100*s.NewShare)
	if s.BrakeS != nil {
		text += fmt.Sprintf("; the brake was pulled at %s: harm over all", popday.Clock(*s.BrakeS))
	}
	var left []string
	for _, kind := range []string{"released", "retired", "demoted"} {
		if n := s.Left[kind]; n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if left != nil {
		text += "; left the plan: " + strings.Join(left, ", ")
	}
	if len(s.Refused) > 0 {
		var names []string
		for _, f := range s.Refused {
			names = append(names, fmt.Sprintf("%s (%s)", f.Class, f.Guards))
		}
		slices.Sort(names)
		text += "; kept out by guards: " + strings.Join(slices.Compact(names), ", ")
	}
	return text + "."
}

// spanTable has one line for each stay of a network in the plan.
func spanTable(s *popday.Story) table {
	t := table{Title: fmt.Sprintf("In the plan, %s, seed %d", s.Policy, s.Seed), Rows: [][]string{{"from", "to", "network", "state", "ended by"}}}
	for i := range s.Spans {
		sp := &s.Spans[i]
		end := sp.End
		if end == "day" {
			end = "the day's end"
		}
		t.Rows = append(t.Rows, []string{popday.Clock(sp.FromS), popday.Clock(sp.ToS), fmt.Sprintf("%s %d", sp.Class, sp.Network), sp.State, end})
	}
	return t
}

// eachPart has every network whose goodput changed.
func eachPart(r *popday.Report) part {
	t := table{Rows: [][]string{{"policy", "seed", "network", "large responses", "median Mbit/s", "ratio to " + word(r.Comparison.Default), ""}}}
	for _, n := range r.Each {
		if n.Verdict == "alike" {
			continue
		}
		t.Rows = append(t.Rows, []string{n.Policy, fmt.Sprint(n.Seed), fmt.Sprintf("%s %d", n.Class, n.Network), fmt.Sprint(n.Large), rate(n.Median), span(n.Ratio), n.Verdict})
	}
	p := part{ID: "networks", Title: "Networks helped and harmed", Tables: []table{t},
		Words: []string{"Median goodput of large responses, beyond 5 % and with an interval that excludes 1. All others are alike."}}
	p.Figures = networkFigures(r)
	return p
}
