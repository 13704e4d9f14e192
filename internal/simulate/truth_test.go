package simulate

import (
	"testing"

	"github.com/congctl/congctl/internal/simulate/city"
)

// TestWorldsThatHurt: where networks do not share a line, every other nuisance together leaves the
// estimates at the truth. Where they do, estimates are wrong, and networks are promoted that gain
// nothing: the figures are what the rules do now, and docs/effect.md has more of them.
func TestWorldsThatHurt(t *testing.T) {
	const alone = city.Measured | city.Hourly | city.Level | city.Video | city.Mobile | city.Rerouting | city.Paths | city.Load
	at := func(w city.World) CityReport {
		o := town(1, true)
		o.Hours, o.World = 24, w
		r := run(t, o)
		for _, e := range []*Estimate{r.Estimates.Overall, r.Estimates.P10, r.NullEstimates.Overall, r.NullEstimates.P10} {
			if e == nil || e.Low == nil {
				t.Fatalf("%v: no estimate: %+v", w.Names(), r)
			}
			t.Logf("%v: %.3f (%.3f to %.3f), truth %.3f", w.Names(), e.Ratio, *e.Low, *e.High, e.Truth)
		}
		return r
	}
	r := at(alone)
	for _, e := range []*Estimate{r.Estimates.Overall, r.NullEstimates.Overall} {
		if *e.Low > e.Truth || *e.High < e.Truth {
			t.Errorf("alone: %.3f (%.3f to %.3f), truth %.3f", e.Ratio, *e.Low, *e.High, e.Truth)
		}
	}
	if n := r.Estimates; n.Covered < n.Bounded*9/10 || r.PromotedUseless > 1 || r.NullPromoted > 1 {
		t.Errorf("alone: %d of %d networks covered, %d and %d promoted without benefit", n.Covered, n.Bounded, r.PromotedUseless, r.NullPromoted)
	}
	r = at(city.Neighbours)
	if e := r.NullEstimates.Overall; e.Truth != 1 || e.Ratio < 1.2 || e.Ratio > 1.6 || r.NullPromoted == 0 {
		t.Errorf("neighbours: %.3f of %.3f, %d promoted; if this has become better, write so in docs/effect.md", e.Ratio, e.Truth, r.NullPromoted)
	}
}
