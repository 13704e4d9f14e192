package popreport

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/popday"
)

// path of a class in words.
func path(c popday.Class) string {
	parts := []string{line(c.Line)}
	if c.Upto != nil {
		parts[0] = "from " + line(c.Line) + " to " + line(*c.Upto)
	}
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(c.SpreadPPM > 0, "rates differ by %g %%", float64(c.SpreadPPM)/1e4)
	add(c.VaryPPM > 0, "rate varies by %g %%", float64(c.VaryPPM)/1e4)
	add(c.RcvbufBytes > 0, "receive buffer %g kB", float64(c.RcvbufBytes)/1e3)
	add(c.AppBitPerS > 0, "the server sends %g Mbit/s", float64(c.AppBitPerS)/1e6)
	add(c.Changes > 0, "another path at times")
	return strings.Join(parts, ", ")
}

// line is a path in words; drawn ones have many digits.
func line(l popday.Line) string {
	text := fmt.Sprintf("%.3g Mbit/s, %.3g ms", float64(l.RateBitPerS)/1e6, float64(l.RTTUs)/milli)
	add := func(is bool, format string, args ...any) {
		if is {
			text += fmt.Sprintf(format, args...)
		}
	}
	add(l.JitterUs > 0, ", jitter %.2g ms", float64(l.JitterUs)/milli)
	add(l.LossPPM > 0, ", %.2g %% lost", float64(l.LossPPM)/1e4)
	add(l.LossBurst > 0, ", %d in a row", l.LossBurst)
	add(!l.Policer, ", queue %.0f kB", float64(l.BufferBytes)/1e3)
	add(l.Policer, ", policed")
	add(l.Policer && l.BurstBytes > 0, " above %.0f kB", float64(l.BurstBytes)/1e3)
	return text
}

// headline is what the runs found, in one sentence.
func headline(r *popday.Report) string {
	moved, measured, gain := 0, 0, 0.0
	for _, s := range stays(r) {
		if s.did == didMove {
			moved++
		}
	}
	for i := range r.Tellings {
		if t := &r.Tellings[i]; t.Kind == popday.Moved {
			measured++
			gain += math.Log(t.Median(r.Lead) / t.Median(r.Comparison.Default))
		}
	}
	loop, full := r.Policy(r.Lead), r.Policy(r.Comparison.Treatment)
	if loop == nil || r.Policy(r.Comparison.Default) == nil {
		return setup(r) + "."
	}
	text := fmt.Sprintf(title(r, r.Lead)+" moves %d of %d client networks to %s", moved, ours(r)*len(loop.Seeds), word(r.Comparison.Treatment))
	switch speed := math.Exp(gain / float64(measured)); {
	case measured == 0:
	case measured < moved:
		text += fmt.Sprintf(" and makes the %d that can be compared %.1f times as fast", measured, speed)
	default:
		text += fmt.Sprintf(" and makes them %.1f times as fast", speed)
	}
	text += fmt.Sprintf("; it resends %.1f %% of all bytes instead of %.1f %% and slows down %s", 100*loop.Cost.RetransShare,
		100*r.Policy(r.Comparison.Default).Cost.RetransShare, slowed(r, loop))
	if full != nil {
		text += fmt.Sprintf(". %s for all resends %.1f %% and slows down %s", word(full.Policy), 100*full.Cost.RetransShare, slowed(r, full))
	}
	return text + "."
}

// slowed says how many networks a policy slows down: the edge's own, and another server's.
func slowed(r *popday.Report, p *popday.PolicyRow) string {
	theirs := 0
	for _, n := range r.Each {
		if n.Policy == p.Policy && n.Verdict == popday.Harmed && beside(r, n.Class) {
			theirs++
		}
	}
	var parts []string
	if own := p.Harmed - theirs; own > 0 {
		parts = append(parts, fmt.Sprint(own))
	}
	if theirs > 0 {
		parts = append(parts, fmt.Sprintf("%d %s of another server's clients", theirs, plural("network", theirs)))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", and ")
}

// firstTable is the picture in figures, with the networks that were slow and not moved.
func firstTable(r *popday.Report) table {
	names := barPolicies(r)
	t := table{First: true, Rows: [][]string{{"networks", "why they are slow, or slowed down", "what congctl did"}}}
	for _, name := range names {
		t.Rows[0] = append(t.Rows[0], title(r, name))
	}
	add := func(label, why, did string, of func(policy string) (under, bool)) {
		row := []string{label, why, did}
		for _, name := range names {
			cell := "-"
			if u, ok := of(name); ok {
				cell = fmt.Sprintf("%s Mbit/s [%.1f %% resent]", short(u.bytesPerS), 100*u.again)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	list := slow(r)
	for _, x := range harmed(r) {
		if !slices.ContainsFunc(list, func(o told) bool { return o.name == x.name }) {
			list = append(list, x)
		}
	}
	for _, x := range list {
		add(x.label(), x.why, x.did, func(policy string) (under, bool) { u, ok := x.under[policy]; return u, ok })
	}
	add("all", "9 of 10 large responses are above", "", func(policy string) (under, bool) {
		p := r.Policy(policy)
		return under{p.Large.P10.BytesPerS, p.Cost.RetransShare}, true
	})
	return t
}
