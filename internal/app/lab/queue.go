package lab

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
)

// turn is a run that is due: the cell's index in the scenario, and which of its seeds.
type turn struct {
	cell, nth int
}

// queue hands out turns: the first seed of all cells, then the second of those
// that need it, and so on, so that a run that is cut short has seen every cell.
//
// A cell's next seed is due once the one before is judged, from this cell's results
// alone: which seeds are run does not depend on how many run at once.
type queue struct {
	scenario *scenario.Scenario
	waiting  []turn
	results  [][]outcome.Result // by cell, then seed
	last     bool               // no further seeds: the budget is spent
}

func newQueue(s *scenario.Scenario) *queue {
	q := &queue{scenario: s, results: make([][]outcome.Result, len(s.Cells))}
	for cell := range s.Cells {
		q.waiting = append(q.waiting, turn{cell, 0})
	}
	return q
}

// next gives the turn that is due, false if none is.
func (q *queue) next() (turn, bool) {
	if len(q.waiting) == 0 {
		return turn{}, false
	}
	t := q.waiting[0]
	q.waiting = q.waiting[1:]
	return t, true
}

func (q *queue) cell(t turn) *scenario.Cell { return &q.scenario.Cells[t.cell] }
func (q *queue) seed(t turn) uint64         { return q.cell(t).Seeds.First + uint64(t.nth) }

// judged takes the result of a turn and makes the cell's next one due, if it needs one.
func (q *queue) judged(t turn, r outcome.Result) {
	results := append(q.results[t.cell], r)
	q.results[t.cell] = results
	if more, _ := outcome.NeedsMore(q.scenario, q.cell(t), results); !more || q.last {
		return
	}
	next := turn{t.cell, t.nth + 1}
	at, _ := slices.BinarySearchFunc(q.waiting, next, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.nth, b.nth), cmp.Compare(a.cell, b.cell))
	})
	q.waiting = slices.Insert(q.waiting, at, next)
}

// onlyFirst drops whatever is not the first run of a cell.
func (q *queue) onlyFirst() {
	q.last = true
	q.waiting = slices.DeleteFunc(q.waiting, func(t turn) bool { return t.nth > 0 })
}

// left is how many runs are due or, as far as the scenario says it beforehand, will be.
func (q *queue) left() int {
	n := len(q.waiting)
	for _, t := range q.waiting {
		if !q.last {
			n += max(q.cell(t).Seeds.Count-1-t.nth, 0)
		}
	}
	return n
}
