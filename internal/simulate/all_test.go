package simulate

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/loop/policy"
)

// TestTownOfAll: with all networks treated as one the experiment knows what that does to them, by a few pairs of the whole town.
func TestTownOfAll(t *testing.T) {
	o := town(1, true)
	o.Prefixes, o.Hours = 200, 72
	o.Rules.Select, o.Rules.Trial.GroupPromoted = policy.SelectAll, 16
	r := run(t, o)
	e := r.Estimates.Overall
	if e == nil || r.Estimates.Pairs < 25 || r.Estimates.Pairs > 27 || r.Braked != "" {
		t.Fatalf("%+v, brake %q", r.Estimates, r.Braked)
	}
	t.Logf("%d pairs: x %.3f, truth x %.3f", r.Estimates.Pairs, e.Ratio, e.Truth)
	if math.Abs(math.Log(e.Ratio/e.Truth)) > 0.1 || math.IsNaN(e.Truth) {
		t.Errorf("x %.3f, truth x %.3f", e.Ratio, e.Truth)
	}
}
