package outcome

import (
	"slices"

	"github.com/congctl/congctl/internal/core/scenario"
	"github.com/congctl/congctl/internal/core/stat"
)

// Options of a summary.
type Options struct {
	// Paired: the world drew the same losses for each arm with the same seed, so that
	// ratios are taken seed by seed (see Host.PairedLosses).
	Paired bool
}

// Summarise adds up results, in any order, to one row for each cell in the scenario's
// order. Results of other cells are left out.
//
// One invalid run makes its row invalid, without a number: leaving out just the runs
// whose outcome offends would bias what remains.
func Summarise(s *scenario.Scenario, results []Result, o Options) Summary {
	sum := Summary{Scenario: *s, Rows: []Row{}, Winners: []Winner{}}
	bySeed := byCell(results)
	for i := range s.Cells {
		c := &s.Cells[i]
		row := newRow(s, c, bySeed[c.ID])
		if base := first(s, c); base != nil && base != c {
			row.compare(bySeed[c.ID], bySeed[base.ID], o)
		}
		sum.Rows = append(sum.Rows, row)
	}
	sum.Winners = winners(sum.Rows)
	return sum
}

// byCell gives each cell's results by ascending seed.
func byCell(results []Result) map[string][]Result {
	cells := map[string][]Result{}
	for _, r := range results {
		cells[r.Cell] = append(cells[r.Cell], r)
	}
	for _, list := range cells {
		slices.SortStableFunc(list, func(a, b Result) int {
			switch {
			case a.Seed < b.Seed:
				return -1
			case a.Seed > b.Seed:
				return 1
			}
			return 0
		})
	}
	return cells
}

// first gives the cell of c's group with the scenario's first arm, nil if none.
func first(s *scenario.Scenario, c *scenario.Cell) *scenario.Cell {
	for i := range s.Cells {
		if len(s.Arms) > 0 && s.Cells[i].Arm.Name == s.Arms[0].Name && s.Cells[i].Group() == c.Group() {
			return &s.Cells[i]
		}
	}
	return nil
}

func newRow(s *scenario.Scenario, c *scenario.Cell, results []Result) Row {
	row := Row{Cell: c.ID, Group: c.Group(), Arm: c.Arm.Name, Runs: len(results)}
	for _, r := range results {
		if !r.Valid {
			row.Invalid++
		}
	}
	row.Reasons = reasons(results)
	more, why := NeedsMore(s, c, results)
	if row.Stop = why; more {
		row.Stop = "unfinished: " + why
	}
	if row.Runs == 0 || row.Invalid > 0 {
		return row
	}
	of := func(number func(*Metrics) float64) *Interval {
		return interval(stat.MedianInterval(numbers(results, number)))
	}
	row.Goodput = of(goodput)
	row.Steady = of(func(m *Metrics) float64 { return m.SteadyBitPerS })
	row.Completed = of(func(m *Metrics) float64 { return float64(m.CompletionUs) })
	row.Retrans = of(func(m *Metrics) float64 { return m.RetransShare })
	row.QueueP95 = of(func(m *Metrics) float64 { return m.QueueUs.P95 })
	row.Jain = of(func(m *Metrics) float64 { return m.Jain })
	row.Wire = of(func(m *Metrics) float64 { return m.WireBitPerS })
	row.Policer = of(func(m *Metrics) float64 { return m.PolicerShare })
	return row
}

func goodput(m *Metrics) float64 { return m.GoodputBitPerS }

func numbers(results []Result, number func(*Metrics) float64) []float64 {
	list := make([]float64, len(results))
	for i, r := range results {
		list[i] = number(r.Metrics)
	}
	return list
}

func interval(i stat.Interval) *Interval { return &Interval{i.Estimate, i.Low, i.High} }

// compare sets the ratio to the first arm's goodput, where both are valid.
func (row *Row) compare(own, base []Result, o Options) {
	if row.Goodput == nil || len(base) == 0 || slices.ContainsFunc(base, func(r Result) bool { return !r.Valid || goodput(r.Metrics) <= 0 }) {
		return
	}
	if !o.Paired {
		row.Ratio = interval(stat.Ratio(numbers(own, goodput), numbers(base, goodput)))
		return
	}
	var x, b []float64
	for _, r := range own {
		if i := slices.IndexFunc(base, func(b Result) bool { return b.Seed == r.Seed }); i >= 0 {
			x, b = append(x, goodput(r.Metrics)), append(b, goodput(base[i].Metrics))
		}
	}
	if len(x) > 0 {
		row.Ratio, row.Paired = interval(stat.PairedRatio(x, b)), true
	}
}

// reasons gives each broken gate once, as the first seed broke it.
func reasons(results []Result) (list []string) {
	seen := map[string]bool{}
	for _, r := range results {
		for _, g := range r.Gates {
			if !g.OK && g.Exempt == "" && !seen[g.Name] {
				seen[g.Name] = true
				list = append(list, g.Name+": "+g.Got+", not "+g.Want+" ("+g.Why+")")
			}
		}
	}
	return list
}
