package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// Cool-down: who was tried and did not gain waits, longer each time in a row:
//
//	wait(k) = min(CooldownSeconds 2^(k-1), MaxCooldownSeconds),  k retirements in a row
//
// Some of the slowest fifth is plain slow access, which no congestion control can
// help: with a fixed day 115 of 2,000 simulated prefixes were tried three times in
// three days, with doubling 22.
//
// A demotion counts and waits like a retirement. A promotion ends the row. So does
// time: who was not tried again for as long as it waited begins a new one.

// Cooling is a prefix that was tried. From Until on it may be tried again.
type Cooling struct {
	Prefix record.Prefix `json:"prefix"`
	Until  int64         `json:"until"` // Unix seconds
	Row    int           `json:"row"`   // retirements in a row
}

// wait is the cool-down after so many retirements in a row.
func (r Trial) wait(row int) int64 {
	w := r.CooldownSeconds
	for ; row > 1 && w < r.MaxCooldownSeconds; row-- {
		w *= 2
	}
	return min(w, r.MaxCooldownSeconds)
}

// cool makes a prefix wait that leaves the plan with so many retirements in a row.
func (e *Engine) cool(p record.Prefix, row int, round int64) (text string) {
	w := e.rules.Trial.wait(row)
	e.cooling[p] = Cooling{p, round + w, row}
	text = "cools down for " + durationText(w)
	if row > 1 {
		text += fmt.Sprintf(", number %d in a row", row)
	}
	return text
}

// isCooling says whether a prefix must still wait at a round.
func (e *Engine) isCooling(p record.Prefix, round int64) bool { return round < e.cooling[p].Until }

// warm takes a prefix off the list and gives its retirements in a row.
func (e *Engine) warm(p record.Prefix) (row int) {
	row = e.cooling[p].Row
	delete(e.cooling, p)
	return row
}

// justRetired counts those of a role whose cool-down began within the longest time of a trial.
func (e *Engine) justRetired(role record.Arm, round int64) (n int) {
	for p, c := range e.cooling {
		if c.Until-e.rules.Trial.wait(c.Row) > round-2*e.rules.Trial.BudgetSeconds && e.role(p) == role {
			n++
		}
	}
	return n
}

// keepRow remembers the row of a prefix that leaves for another reason than its
// effect: it may be tried again at once, and goes on where it was.
func (e *Engine) keepRow(t *track, round int64) {
	if n := t.chosen.Retired; n > 0 {
		e.cooling[t.prefix] = Cooling{t.prefix, round, n}
	}
}

// coolingList drops rows that time has ended, and gives the others by prefix; nil if there are none.
func (e *Engine) coolingList(round int64) []Cooling {
	maps.DeleteFunc(e.cooling, func(_ record.Prefix, c Cooling) bool { return round >= c.Until+e.rules.Trial.wait(c.Row) })
	return slices.SortedFunc(maps.Values(e.cooling), func(a, b Cooling) int { return cmp.Compare(a.Prefix, b.Prefix) })
}

func (e *Engine) recallCooling(list []Cooling) {
	clear(e.cooling)
	if !e.rules.Trial.On {
		return
	}
	for _, c := range list {
		e.cooling[c.Prefix] = c
	}
}
