package popreport

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/core/popday"
)

// word is a congestion control as it is written in a sentence.
func word(policy string) string { return strings.ToUpper(policy) }

// comparisonPart is goodput of every policy.
func comparisonPart(r *popday.Report) part {
	c := &r.Comparison
	p := part{ID: "policies", Title: "Policies", Words: []string{
		fmt.Sprintf("Responses of one seed pair by session and request: %d came whole under every policy of their seed, %d did not and are left out.", c.Matched, c.LeftOut),
		"Goodput is bytes by the client's time, from the wish to the last byte. Ratios are to " + popday.All(c.Default) + ". Intervals of 95 %: drawn again is " + c.Method +
			". \"Other PoP\": drawn again are " + c.Second + "."}}
	if c.Reference == "" {
		p.Words = append(p.Words, "No valid run of the policy "+c.Default+": nothing to compare with.")
	}
	p.Tables = []table{largeTable(c), allTable(c)}
	p.Figures = comparisonFigures(r)
	return p
}

func largeTable(c *popday.Comparison) table {
	t := table{Title: "Large responses, 100,000 bytes and more", Rows: [][]string{{"policy", "seeds", "responses", "p5 Mbit/s", "p10 Mbit/s", "p50 Mbit/s",
		"p5 ratio", "p10 ratio", "p50 ratio", "p10 ratio, other PoP", "of " + word(c.Treatment) + "'s p10 gain", fmt.Sprintf("from %s on", popday.Clock(int64(c.LateFromS)))}}}
	for i := range c.Policies {
		p := &c.Policies[i]
		if len(p.Seeds) == 0 {
			t.Rows = append(t.Rows, invalidRow(p.Policy, len(t.Rows[0])))
			continue
		}
		g := &p.Large
		t.Rows = append(t.Rows, []string{p.Policy, numbers(p.Seeds), fmt.Sprint(g.Responses), rate(g.P5.BytesPerS), rate(g.P10.BytesPerS), rate(g.P50.BytesPerS),
			span(g.P5.Ratio), span(g.P10.Ratio), span(g.P50.Ratio), span(g.P10.Other), percent(p.GainShare), percent(p.GainShareLate)})
	}
	return t
}

func invalidRow(policy string, n int) []string {
	row := []string{policy, "INVALID"}
	for len(row) < n {
		row = append(row, "-")
	}
	return row
}

func allTable(c *popday.Comparison) table {
	t := table{Title: "All responses", Rows: [][]string{{"policy", "seeds", "responses", "p5 Mbit/s", "p10 Mbit/s", "p50 Mbit/s", "p5 ratio", "p10 ratio", "p50 ratio"}}}
	for i := range c.Policies {
		p := &c.Policies[i]
		if len(p.Seeds) == 0 {
			t.Rows = append(t.Rows, invalidRow(p.Policy, len(t.Rows[0])))
			continue
		}
		g := &p.All
		t.Rows = append(t.Rows, []string{p.Policy, numbers(p.Seeds), fmt.Sprint(g.Responses), rate(g.P5.BytesPerS), rate(g.P10.BytesPerS), rate(g.P50.BytesPerS),
			span(g.P5.Ratio), span(g.P10.Ratio), span(g.P50.Ratio)})
	}
	return t
}

// costPart is what each policy takes, and from whom.
func costPart(r *popday.Report) part {
	cost := table{Title: "Cost", Note: "Queue: srtt less min_rtt over eligible connections, where congctl measured. First byte: of small responses later on a connection, beyond the network's least round trip. Harmed, helped: networks whose median goodput of large responses differs by more than 5 %, with an interval that excludes 1.",
		Rows: [][]string{{"policy", "retransmitted MB", "of sent", "by " + word(r.Comparison.Default) + "'s", "queue ms", "first byte p50 ms", "p95 ms", "helped", "harmed", "of networks"}}}
	small := table{Title: "Fresh small responses", Note: "The first of their connection, below 100,000 bytes: nothing may happen to them. Time from the wish, before the handshake, to the last byte.",
		Rows: [][]string{{"policy", "responses", "p50 ms", "difference ms", "ratio", "on another congestion control"}}}
	for i := range r.Comparison.Policies {
		p := &r.Comparison.Policies[i]
		if len(p.Seeds) == 0 {
			continue
		}
		cost.Rows, small.Rows = append(cost.Rows, costRow(p)), append(small.Rows, smallRow(p))
	}
	return part{ID: "cost", Title: "Cost and side effects", Tables: []table{cost, small}}
}

func costRow(p *popday.PolicyRow) []string {
	c, queue, ratio := &p.Cost, "-", "-"
	if c.QueueUs != nil {
		queue = fmt.Sprintf("%.1f", *c.QueueUs/milli)
	}
	if c.RetransRatio > 0 {
		ratio = fmt.Sprintf("%.2f", c.RetransRatio)
	}
	return []string{p.Policy, fmt.Sprintf("%.1f", float64(c.RetransBytes)/1e6), fmt.Sprintf("%.2f %%", 100*c.RetransShare), ratio, queue,
		fmt.Sprintf("%.1f", c.FirstByteP50Us/milli), fmt.Sprintf("%.1f", c.FirstByteP95Us/milli), fmt.Sprint(p.Helped), fmt.Sprint(p.Harmed), fmt.Sprint(p.Networks)}
}

func smallRow(p *popday.PolicyRow) []string {
	s, difference := &p.Small, "-"
	if d := s.DifferenceUs; d != nil {
		difference = fmt.Sprintf("%+.2f [%+.2f, %+.2f]", d.Value/milli, d.Low/milli, d.High/milli)
	}
	return []string{p.Policy, fmt.Sprint(s.Responses), fmt.Sprintf("%.2f", s.P50Us/milli), difference, span(s.Ratio), fmt.Sprint(s.Other)}
}

// truthWords say what the estimates are held against, and what the loop can do at most.
func truthWords(r *popday.Report) string {
	full, base := popday.All(r.Comparison.Treatment), popday.All(r.Comparison.Default)
	text := fmt.Sprintf("Truth: what the same responses got in the %s run by what they got in the %s run of the same seed. ", full, base)
	if r.Experiment.MinBytes < popday.LargeBytes {
		return text + fmt.Sprintf("Both the loop and %s begin with the first bytes; \"of a switch\" takes each response at %s's pace up to the 100,000th.", full, word(r.Comparison.Default))
	}
	return text + fmt.Sprintf("A%s is on %s from the first byte, the loop from the 100,000th: \"of a switch\" takes each response at %s's pace up to there, and is what the loop could do at most.",
		full[1:], word(r.Comparison.Treatment), word(r.Comparison.Default))
}

// effectPart sets estimates beside the truth.
func effectPart(r *popday.Report) part {
	p := part{ID: "effect", Title: "Effect", Words: []string{
		"Randomised blocks of the loop: treated by control, weighted by 1/P(arm), every response by the block in which it began, whatever was applied to it. Intervals: bootstrap over pairs from 9 pairs, t over pairs for 3 to 8, none below.",
		truthWords(r)}}
	t := table{Title: "Goodput of large responses, estimate and truth", Rows: [][]string{{"class", "chosen", "pairs", "p10 goodput", "truth", "covered", "of a switch",
		"p50 goodput", "truth", "covered", "of a switch"}}}
	other := table{Title: "Delivery rate, and what it took", Note: "T: blocks drawn for treatment, C: for control. On the treatment: large responses that ended on it; one that never leaves loss recovery is never switched.",
		Rows: [][]string{{"class", "pairs", "p10 rate", "p50 rate", "on the treatment T / C", "resent T / C", "queue T / C ms"}}}
	for i := range r.Effects {
		e := &r.Effects[i]
		t.Rows, other.Rows = append(t.Rows, effectRow(e)), append(other.Rows, costOfEffect(e))
	}
	if len(r.Effects) == 0 {
		p.Words = append(p.Words, "No pair of blocks: nobody was tried for long enough, or the loop was not run.")
	} else {
		p.Tables = append(p.Tables, t, other)
	}
	if s := r.Sham; s != nil {
		p.Words = append(p.Words, fmt.Sprintf("A/A, blocks that were drawn and not treated, must say 1: goodput p10 %s and p50 %s on %d pairs, delivery rate %s and %s on %d, of %d networks.",
			bounds(s.Goodput.P10), bounds(s.Goodput.P50), s.Goodput.Pairs, bounds(s.Rate.P10), bounds(s.Rate.P50), s.Rate.Pairs, s.Networks))
	}
	p.Words = append(p.Words, regressionWords(r)...)
	p.Figures = effectFigures(r)
	return p
}

func effectRow(e *popday.Effect) []string {
	row := []string{e.Label, fmt.Sprint(e.Chosen), fmt.Sprint(e.Goodput.Pairs)}
	for i, b := range []popday.Bounds{e.Goodput.P10, e.Goodput.P50} {
		row = append(row, bounds(b))
		if i >= len(e.Truth) {
			row = append(row, "-", "-", "-")
			continue
		}
		row = append(row, span(e.Truth[i].Ratio), covered(e.Truth[i].Covered), span(e.Switched[i].Ratio))
	}
	return row
}

func costOfEffect(e *popday.Effect) []string {
	return []string{e.Label, fmt.Sprint(e.Rate.Pairs), bounds(e.Rate.P10), bounds(e.Rate.P50), fmt.Sprintf("%.0f / %.0f %%", 100*e.AppliedTreated, 100*e.AppliedControl),
		fmt.Sprintf("%.2f / %.2f %%", 100*e.RetransTreated, 100*e.RetransControl), fmt.Sprintf("%.1f / %.1f", e.QueueTreatedUs/milli, e.QueueControlUs/milli)}
}

func covered(is *bool) string {
	switch {
	case is == nil:
		return "-"
	case *is:
		return "yes"
	}
	return "no"
}

// regressionWords are what before/after is worth.
func regressionWords(r *popday.Report) (words []string) {
	g := &r.Regression
	if g.Nothing != nil {
		words = append(words, fmt.Sprintf("Selection alone: in the %s runs, where nothing was done, the networks in the slowest fifth of a block were %s times as fast in the 3 blocks after it (geometric mean over %d blocks).",
			popday.All(r.Comparison.Default), span(g.Nothing), g.Blocks))
	}
	if g.Chosen > 0 {
		words = append(words, fmt.Sprintf("Before and after, which is no evidence: the %d chosen networks were %.2f times as fast in treated blocks as before they were chosen, %.2f times in control blocks; the first by the second is %.2f.",
			g.Chosen, g.Naive, g.Untreated, g.Effect))
	}
	return words
}
