package popreport

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/congctl/congctl/internal/popday"
)

// mostSlow classes are on the screen; the page has all.
const mostSlow = 5

// Text prints what came out, in a screen's few lines, and which page to read next.
func Text(w io.Writer, r *popday.Report, page string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Day, setup(r))
	for _, l := range r.Runs {
		if !l.Valid {
			fmt.Fprintf(&b, "INVALID %s-%d: %s\n", l.Policy, l.Seed, strings.Join(l.Broken, "; "))
		}
	}
	if list := slow(r); len(list) > 0 {
		fmt.Fprintf(&b, "\nSlow on %s, and why:\n%s", word(r.Comparison.Default), slowLines(r, list))
	}
	b.WriteString("\n" + align(policyLines(r)))
	if text := harmWords(r); text != "" {
		b.WriteString(text + "\n")
	}
	fmt.Fprintf(&b, "\nPictures, all figures and the method: %s\n", page)
	_, err := io.WriteString(w, b.String())
	return err
}

// setup says in a line what was compared.
func setup(r *popday.Report) string {
	text := fmt.Sprintf("%d client networks", ours(r))
	if n := len(r.Networks) - ours(r); n > 0 {
		text += fmt.Sprintf(" and %d of another server", n)
	}
	text += ", " + duration(r.LengthS)
	if n := len(seeds(r)); n > 1 {
		text += fmt.Sprintf(", %d seeds", n)
	}
	if len(r.Comparison.Policies) > 1 {
		text += fmt.Sprintf(", the same %d requests each time", r.Comparison.Matched)
	}
	return text + ", Linux " + r.Kernel
}

// ours are the edge's client networks: neighbours have another server.
func ours(r *popday.Report) (n int) {
	for i := range r.Mix {
		if r.Mix[i].Behind == "" {
			n += r.Mix[i].Networks
		}
	}
	return n
}

// beside reports whether a class's clients have another server.
func beside(r *popday.Report, class string) bool {
	return slices.ContainsFunc(r.Mix, func(c popday.Class) bool { return c.Name == class && c.Behind != "" })
}

func slowLines(r *popday.Report, list []told) string {
	var rows [][]string
	for i := range list[:min(len(list), mostSlow)] {
		t := &list[i]
		rows = append(rows, []string{"  " + t.label(), t.why, t.did + gainWords(r, t)})
	}
	text := columns(rows)
	if more := len(list) - len(rows); more > 0 {
		text += fmt.Sprintf("  and %d more\n", more)
	}
	return text
}

// gainWords are what the move gained and cost, on the same requests from then on.
func gainWords(r *popday.Report, t *told) string {
	before, after := t.under[r.Comparison.Default], t.under[r.Lead]
	switch {
	case t.kind != popday.Moved && strings.Contains(t.did, treated(r, didMove)):
		return ": -"
	case t.kind != popday.Moved:
		return ""
	}
	return fmt.Sprintf(": %s -> %s Mbit/s, resent %.1f -> %.1f %%", short(before.bytesPerS), short(after.bytesPerS), 100*before.again, 100*after.again)
}

// short is a rate with two figures or three.
func short(bytesPerS float64) string { return fmt.Sprintf("%.1f", bytesPerS/mbit) }

// title names a policy for a reader.
func title(r *popday.Report, policy string) string {
	switch policy {
	case r.Comparison.Default, r.Comparison.Treatment:
		return "all " + word(policy)
	case "loop":
		return "congctl"
	}
	if slices.Contains(popday.Loops, policy) {
		return "congctl, " + policy
	}
	return policy
}

// shown are the policies in the order of the story: the default, congctl, all else.
func shown(r *popday.Report) (rows []*popday.PolicyRow) {
	place := map[string]int{r.Comparison.Default: -2, r.Lead: -1}
	for i := range r.Comparison.Policies {
		rows = append(rows, &r.Comparison.Policies[i])
	}
	slices.SortStableFunc(rows, func(a, b *popday.PolicyRow) int { return place[a.Policy] - place[b.Policy] })
	return rows
}

// policyLines hold what each policy gains against what it costs.
func policyLines(r *popday.Report) [][]string {
	rows := [][]string{{"", "9 of 10 large responses above", "bytes resent", "networks slowed down"}}
	for _, p := range shown(r) {
		row := []string{title(r, p.Policy), "INVALID", "-", "-"}
		if len(p.Seeds) > 0 {
			g := &p.Large.P10
			row[1], row[2] = short(g.BytesPerS)+" Mbit/s", fmt.Sprintf("%.1f %%", 100*p.Cost.RetransShare)
			if g.Ratio != nil {
				row[1] += fmt.Sprintf(" (%+.0f %%)", 100*(g.Ratio.Value-1))
			}
			if p.Networks > 0 {
				row[3] = fmt.Sprintf("%d of %d", p.Harmed, p.Networks)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// harmWords say which networks everything treated slows down.
func harmWords(r *popday.Report) string {
	var parts []string
	theirs := func(t told) bool { return beside(r, t.name) }
	if own := slices.DeleteFunc(harmed(r), theirs); len(own) > 0 {
		parts = append(parts, ": "+harmNames(r, own))
	}
	if other := slices.DeleteFunc(harmed(r), func(t told) bool { return !theirs(t) }); len(other) > 0 {
		parts = append(parts, " another server's clients: "+harmNames(r, other))
	}
	if parts == nil {
		return ""
	}
	return word(r.Comparison.Treatment) + " for all slows down" + strings.Join(parts, ", and") + "."
}

func harmNames(r *popday.Report, list []told) string {
	var names []string
	for i := range list[:min(len(list), mostSlow)] {
		t := &list[i]
		names = append(names, fmt.Sprintf("%s %+.0f %%", t.label(), 100*(t.ratio(r.Comparison.Treatment, r.Comparison.Default)-1)))
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// columns sets rows in columns, two spaces apart.
func columns(rows [][]string) string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	t.Flush() // to a bytes.Buffer, which does not fail
	return b.String()
}

// align is columns with the heading in capitals.
func align(rows [][]string) string {
	return columns(append([][]string{strings.Split(strings.ToUpper(strings.Join(rows[0], "\t")), "\t")}, rows[1:]...))
}
