package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/lab/outcome"
)

// headline is what a run found, in a few sentences: validity first, since without it the
// rest means nothing; then the winner, then whether theory and published values agree.
func (v *view) Headline() []string {
	return slices.DeleteFunc([]string{v.validity(), v.wins(), v.verdicts(), v.policed(), v.Published.Headline()}, func(s string) bool { return s == "" })
}

func (v *view) validity() string {
	var good, bad, open int
	for i := range v.Rows {
		switch r := &v.Rows[i]; {
		case valid(r):
			good++
		case r.Runs == 0:
			open++
		default:
			bad++
		}
	}
	if good > 1 && good == len(v.Rows) {
		return fmt.Sprintf("all %d cells valid", good)
	}
	s := fmt.Sprintf("%d of %d cells valid", good, len(v.Rows))
	if bad > 0 {
		s += fmt.Sprintf(", %d INVALID", bad)
	}
	if open > 0 {
		s += fmt.Sprintf(", %d not run", open)
	}
	return s
}

// wins counts groups by their best arm, in the scenario's order of arms.
func (v *view) wins() string {
	count, alone := map[string]int{}, 0
	for _, g := range v.Groups {
		if len(g.Rows) > 1 && g.complete() {
			count[g.winner.Arm]++
			alone += strings.Count(g.winner.Note, outcome.OneRun)
		}
	}
	var parts []string
	for _, a := range v.Scenario.Arms {
		if n := count[a.Name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s best in %d", a.Name, n))
		}
	}
	if n := count[""]; n > 0 {
		word := "ties"
		if n == 1 {
			word = "tie"
		}
		parts = append(parts, fmt.Sprintf("%s in %d", word, n))
	}
	if parts == nil {
		return ""
	}
	text := strings.Join(parts, ", ") + " of " + answer.Count(len(v.Groups), "group")
	if alone > 0 {
		text += fmt.Sprintf("; %s in %d: no interval", outcome.OneRun, alone)
	}
	return text
}

// verdicts counts rows by theory's verdict, the most frequent first.
func (v *view) verdicts() string {
	count := map[string]int{}
	var words []string
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Theory == nil || !valid(r) {
			continue
		}
		if count[r.Theory.Verdict] == 0 {
			words = append(words, r.Theory.Verdict)
		}
		count[r.Theory.Verdict]++
	}
	slices.SortStableFunc(words, func(a, b string) int { return count[b] - count[a] })
	for i, w := range words {
		words[i] = fmt.Sprintf("%d %s", count[w], w)
	}
	if words == nil {
		return ""
	}
	return "against theory: " + strings.Join(words, "; ")
}

// policed says where BBR took loss for a policer: it then neither probes nor fills the
// link, which its goodput alone does not show. A narrow table leaves the column out.
func (v *view) policed() string {
	var cells []string
	for i := range v.Rows {
		if r := &v.Rows[i]; valid(r) && positive(r.Policer) != nil {
			cells = append(cells, fmt.Sprintf("%s %s %%", r.Cell, span(r.Policer, cent)))
		}
	}
	if cells == nil {
		return ""
	}
	return "BBR's policer detector, share of samples: " + strings.Join(cells, ", ")
}

// exemptions names the gates that the scenario breaks on purpose: its numbers come from
// that fault, and must not be taken for others.
func (v *view) Exemptions() (out []string) {
	for _, gate := range slices.Sorted(maps.Keys(v.Scenario.Exempt)) {
		out = append(out, "exempt from gate "+gate+": "+v.Scenario.Exempt[gate])
	}
	return out
}
