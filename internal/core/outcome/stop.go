package outcome

import (
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/core/scenario"
	"github.com/congctl/congctl/internal/core/stat"
)

// NeedsMore says whether c needs another seed after its results so far, and why, or
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
		return false, "invalid: more seeds would not mend it"
	}
	n := len(own)
	switch {
	case n < seeds.Count:
		return true, fmt.Sprintf("%d of the %d seeds asked for", n, seeds.Count)
	case seeds.HalfWidth <= 0 && n == 1:
		return false, "one seed, as asked for"
	case seeds.HalfWidth <= 0:
		return false, fmt.Sprintf("%d seeds, as asked for", n)
	}
	half, known := stat.MedianInterval(numbers(own, goodput)).HalfWidth(), "unknown"
	if !math.IsInf(half, 0) {
		known = percent(half)
	}
	state := fmt.Sprintf("half-width %s after %d seeds, %s asked for", known, n, percent(seeds.HalfWidth))
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
