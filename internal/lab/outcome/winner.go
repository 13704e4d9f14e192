package outcome

import (
	"cmp"
	"fmt"
	"slices"
)

// Tie is by what share of the best goodput another arm may be behind and still be as
// good: below, emulators, seeds and versions of a kernel differ by as much.
const Tie = 0.05

// winners returns the best arm of each group that has several, in the rows' order.
func winners(rows []Row) []Winner {
	list := []Winner{}
	var order []string
	groups := map[string][]Row{}
	for _, r := range rows {
		if groups[r.Group] == nil {
			order = append(order, r.Group)
		}
		groups[r.Group] = append(groups[r.Group], r)
	}
	for _, g := range order {
		if len(groups[g]) > 1 {
			list = append(list, winner(g, groups[g]))
		}
	}
	return list
}

func winner(group string, rows []Row) Winner {
	w := Winner{Group: group}
	for _, r := range rows {
		switch {
		case r.Invalid > 0:
			w.Note = r.Arm + " is invalid"
			return w
		case r.Goodput == nil:
			w.Note = r.Arm + " did not run"
			return w
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Goodput.Median, a.Goodput.Median) })
	best, next := rows[0], rows[1]
	behind := 1 - next.Goodput.Median/best.Goodput.Median
	alone := lone(best, next)
	if !(behind >= Tie) {
		w.Note = fmt.Sprintf("%s and %s tie", best.Arm, next.Arm)
		if alone != "" {
			w.Note += ", " + alone
		}
		return w
	}
	w.Arm, w.Note = best.Arm, alone
	if alone == "" && !beyondChance(best, next) {
		w.Note = fmt.Sprintf("uncertain: the intervals of %s and %s overlap", best.Arm, next.Arm)
	}
	return w
}

// OneRun says that there is no interval: by how much runs of either side differ is
// unknown, and so is whether the sides do.
const OneRun = "one run a side"

// lone says which of two rows has one run, "" for none: its interval is no width to
// set a difference against.
func lone(a, b Row) string {
	switch {
	case a.Runs == 1 && b.Runs == 1:
		return OneRun
	case a.Runs == 1:
		return "one run of " + a.Arm
	case b.Runs == 1:
		return "one run of " + b.Arm
	}
	return ""
}

// beyondChance reports whether chance hardly explains the difference: by the ratio's interval if
// one of the two is what ratios are against, or else by intervals that do not touch.
func beyondChance(best, next Row) bool {
	switch {
	case best.Ratio == nil && next.Ratio != nil:
		return next.Ratio.High < 1
	case next.Ratio == nil && best.Ratio != nil:
		return best.Ratio.Low > 1
	}
	return best.Goodput.Low > next.Goodput.High
}
