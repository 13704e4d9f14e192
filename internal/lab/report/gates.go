package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/lab/outcome"
)

// States of a gate over a cell's runs.
const (
	kept   = "kept"
	exempt = "exempt" // broken, and the scenario says why it may be
	failed = "broken"
)

// gateRecord is what one cell's runs did with each gate.
type gateRecord struct {
	Cell, State, Words string
	Rows               []gateRow
}

type gateRow struct {
	Name, State, Want, Got, Why string
	broken                      int
}

// Gates are a group's records, cell by cell.
func (p page) Gates(g *group) (out []gateRecord) {
	for _, l := range g.Rows {
		r := gateRecord{Cell: l.Cell}
		runs := p.Folder.of(l.Cell)
		for _, result := range runs {
			r.add(result)
		}
		r.conclude(len(runs))
		if l.Stop != "" {
			r.Words += "; " + l.Stop
		}
		out = append(out, r)
	}
	return out
}

// add takes one run's gates. The first run's facts stand for all, until one breaks.
func (r *gateRecord) add(result *outcome.Result) {
	for _, g := range result.Gates {
		i := slices.IndexFunc(r.Rows, func(row gateRow) bool { return row.Name == g.Name })
		if i < 0 {
			i = len(r.Rows)
			r.Rows = append(r.Rows, gateRow{Name: g.Name, State: kept, Want: g.Want, Got: seen(&g, result.Seed)})
		}
		row := &r.Rows[i]
		if g.OK {
			continue
		}
		if row.broken++; row.broken == 1 {
			row.State, row.Want, row.Got, row.Why = failed, g.Want, seen(&g, result.Seed), g.Why
			if g.Exempt != "" {
				row.State, row.Why = exempt, g.Exempt
			}
		}
	}
}

func seen(g *outcome.Gate, seed uint64) string { return fmt.Sprintf("%s (seed %d)", g.Got, seed) }

// conclude says it in a few words.
func (r *gateRecord) conclude(runs int) {
	r.State, r.Words = kept, answer.Count(len(r.Rows), "gate")+" kept in "+answer.Count(runs, "run")
	for _, state := range []string{exempt, failed} {
		var names []string
		for i := range r.Rows {
			if row := &r.Rows[i]; row.State == state {
				names = append(names, fmt.Sprintf("%s in %d of %d", row.Name, row.broken, runs))
			}
		}
		if names != nil {
			r.State, r.Words = state, state+": "+strings.Join(names, ", ")
		}
	}
}
