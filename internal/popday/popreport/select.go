package popreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/popday"
)

// The cells of the tables in which policies stand side by side.

// hundredths of a share, or "-".
func hundredths(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**v)
}

// several reports whether more than one policy's selection is told.
func several(v view) bool { return len(loops(v.Report)) > 1 }

func loops(r *popday.Report) (names []string) {
	for _, name := range popday.Loops {
		if r.Policy(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// effectLabel names whose estimate it is where there are several.
func effectLabel(r *popday.Report, e *popday.Effect) string {
	if len(loops(r)) > 1 {
		return e.Policy + ": " + e.Label
	}
	return e.Label
}

func neighbours(v view) bool {
	return slices.ContainsFunc(v.Comparison.Policies, func(p popday.PolicyRow) bool { return p.Neighbours != nil })
}

// selects are the lines of the table of selections: without a run of the policy switch nothing is
// known of which gain, but what was tried in vain is.
func selects(v view) []popday.Signature {
	if len(v.Signatures) > 0 {
		return v.Signatures
	}
	var out []popday.Signature
	for _, p := range v.Comparison.Policies {
		if slices.Contains(loops(v.Report), p.Policy) && v.Comparison.Reference != "" {
			out = append(out, popday.Signature{By: p.Policy})
		}
	}
	return out
}

func longS(v view) int64 { return popday.LongS(v.Experiment.WindowS) }

func vain(v view, policy string) string {
	if p := v.Policy(policy); p != nil {
		return hundredths(p.Vain)
	}
	return "-"
}

func longHarmed(v view, policy string) string {
	if !slices.Contains(loops(v.Report), policy) {
		return "-"
	}
	var parts []string
	for _, h := range v.LongHarms {
		if h.Policy == policy {
			parts = append(parts, fmt.Sprintf("%s %d of seed %d (x %.2f)", h.Class, h.Network, h.Seed, h.Ratio.Value))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// drawnPolicies have a column in the table of drawn networks.
func drawnPolicies(v view) (names []string) {
	for _, p := range v.Comparison.Policies {
		if p.Policy != v.Comparison.Default && p.Networks > 0 {
			names = append(names, p.Policy)
		}
	}
	return names
}

// drawnRatios are its cells: a star where an interval shows the difference.
func drawnRatios(v view, n popday.DrawnNetwork) (cells []string) {
	for _, name := range drawnPolicies(v) {
		cell := "-"
		if i := slices.IndexFunc(n.Beside, func(r popday.Ratio) bool { return r.Policy == name }); i >= 0 && n.Beside[i].Ratio != nil {
			cell = fmt.Sprintf("%.2f", n.Beside[i].Ratio.Value)
			if n.Beside[i].Verdict != "alike" {
				cell += " " + n.Beside[i].Verdict
			}
		}
		cells = append(cells, cell)
	}
	return cells
}
