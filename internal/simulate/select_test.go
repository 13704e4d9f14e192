package simulate

import (
	"os"
	"strconv"
	"testing"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/simulate/city"
)

// TestSelectByBenefit: in a city made of the lab's paths selection by benefit gains more at p10 than the
// slowest fifth, and treats those that it harms for half as long in all. CONGCTL_REPLICATES=n: n cities of 2,000 networks.
func TestSelectByBenefit(t *testing.T) {
	n, size := 1, 600
	if v, err := strconv.Atoi(os.Getenv("CONGCTL_REPLICATES")); err == nil {
		n, size = v, 2000
	}
	for seed := range n {
		got := map[string]CityReport{}
		for _, by := range []string{policy.SelectSlowest, policy.SelectBenefit} {
			o := CityOptions{Seed: uint64(seed + 1), Prefixes: size, Hours: 30, World: city.Lab, Rules: policy.DefaultRules(), Holdout: 20, AA: 10}
			if by == policy.SelectSlowest {
				o.Rules = o.Rules.ByLevel()
			}
			r, err := City(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			got[by] = r
			t.Logf("harmed for %.1f h in all", harmed(r))
			t.Logf("seed %d, %-13s: p10 x %.3f (all faster %.3f, all %.3f), helped in force %v, tried %d (in vain %.2f %%), useless promoted %d, harmed tried %d, null: tried %d, promoted %d, demoted %d %s %s",
				seed+1, by, r.P10Gain, r.P10GainFaster, r.P10GainAll, *r.HelpedTraffic, r.Tried, 100*r.VainTraffic, r.PromotedUseless, r.HarmedTried, r.NullTried, r.NullPromoted, r.NullDemoted, r.Braked, r.NullBraked)
		}
		level, benefit := got[policy.SelectSlowest], got[policy.SelectBenefit]
		if benefit.P10Gain < level.P10Gain-0.01 || benefit.VainTraffic > 0.03 || harmed(benefit) > harmed(level)/2 ||
			benefit.Braked+benefit.NullBraked != "" || benefit.NullPromoted > 2 {
			t.Errorf("seed %d: by level %+v\nby benefit %+v", seed+1, level, benefit)
		}
	}
}

// harmed is how long networks were treated that the treatment slows, hours in all.
func harmed(r CityReport) float64 {
	if r.HarmedHours == nil {
		return 0
	}
	return float64(r.HarmedTried) * *r.HarmedHours
}
