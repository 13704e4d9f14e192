package outcome

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Summarise adds up results, in any order, to one row for each cell in the scenario's
// order. Results of other cells are left out. Paired means that the world drew the same
// losses for each arm with the same seed, so that ratios are taken seed by seed (see
// Host.PairedLosses).
//
// One invalid run makes its row invalid, without a number: leaving out just the runs
// whose outcome offends would bias what remains.
func Summarise(s *scenario.Scenario, results []Result, paired bool) Summary {
	sum := Summary{Scenario: *s, Rows: []Row{}, Winners: []Winner{}}
	bySeed := byCell(results)
	for i := range s.Cells {
		c := &s.Cells[i]
		row := newRow(s, c, bySeed[c.ID])
		if base := first(s, c); base != nil && base != c {
			row.compare(bySeed[c.ID], bySeed[base.ID], paired)
		}
		sum.Rows = append(sum.Rows, row)
	}
	sum.Winners = winners(sum.Rows)
	return sum
}

func byCell(results []Result) map[string][]Result {
	cells := map[string][]Result{}
	for _, r := range results {
		cells[r.Cell] = append(cells[r.Cell], r)
	}
	for _, list := range cells {
		slices.SortStableFunc(list, func(a, b Result) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return cells
}

// first returns the cell of c's group with the scenario's first arm, nil if none.
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
	if !row.valid() {
		return row
	}
	of := func(number func(*Metrics) float64) *Interval {
		return NewInterval(stat.MedianInterval(numbers(results, number)))
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

// NewInterval returns an interval as results have it.
func NewInterval(i stat.Interval) *Interval { return &Interval{i.Estimate, i.Low, i.High} }

// compare sets the ratio to the first arm's goodput, where both are valid.
func (row *Row) compare(own, base []Result, paired bool) {
	if row.Goodput == nil || len(base) == 0 || slices.ContainsFunc(base, func(r Result) bool { return !r.Valid || goodput(r.Metrics) <= 0 }) {
		return
	}
	if !paired {
		row.Ratio = NewInterval(stat.Ratio(numbers(own, goodput), numbers(base, goodput)))
		return
	}
	var x, b []float64
	for _, r := range own {
		if i := slices.IndexFunc(base, func(b Result) bool { return b.Seed == r.Seed }); i >= 0 {
			x, b = append(x, goodput(r.Metrics)), append(b, goodput(base[i].Metrics))
		}
	}
	if len(x) > 0 {
		row.Ratio, row.Paired = NewInterval(stat.PairedRatio(x, b)), true
	}
}

// reasons returns each broken gate once, as the first seed broke it.
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

// NeedsMore reports whether c needs another seed after its results so far, and why, or
// why not: the first Count seeds, then one at a time until the half-width of the
// goodput's interval is below HalfWidth of its median, or Max were run. The ratio's
// interval is not looked at: arms stop each for themselves. Results of other cells do
// not count. A cell without seeds of its own has the scenario's.
//
// The price: stopping at what happens to look narrow, an interval of nominally 95 %
// holds the truth in about 87 of 100 cases. A fixed number of seeds has no such price.
func NeedsMore(s *scenario.Scenario, c *scenario.Cell, results []Result) (more bool, why string) {
	seeds := seedsOf(s, c)
	own := byCell(results)[c.ID]
	if slices.ContainsFunc(own, func(r Result) bool { return !r.Valid }) {
		return false, "invalid: more seeds would not help"
	}
	n := len(own)
	switch {
	case n < seeds.Count:
		return true, fmt.Sprintf("%d of the %d seeds requested", n, seeds.Count)
	case seeds.HalfWidth <= 0 && n == 1:
		return false, "one seed, as requested"
	case seeds.HalfWidth <= 0:
		return false, fmt.Sprintf("%d seeds, as requested", n)
	}
	half, known := stat.MedianInterval(numbers(own, goodput)).HalfWidth(), "unknown"
	if !math.IsInf(half, 0) {
		known = percent(half)
	}
	state := fmt.Sprintf("half-width %s after %d seeds, %s requested", known, n, percent(seeds.HalfWidth))
	switch {
	case half < seeds.HalfWidth:
		return false, "narrow enough: " + state
	case n >= seeds.Max:
		return false, "budget spent: " + state
	}
	return true, state
}

func seedsOf(s *scenario.Scenario, c *scenario.Cell) scenario.Seeds {
	if c.Seeds == (scenario.Seeds{}) {
		return s.Seeds
	}
	return c.Seeds
}
