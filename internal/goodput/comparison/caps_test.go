package comparison

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestCapsCountBesideScouts: only treated rows of blocks that began after the cap had come, of both kinds. Uncapped ones of
// the block in which it came may have crossed before it.
func TestCapsCountBesideScouts(t *testing.T) {
	const zero, window = 1_795_132_800, 300
	p := record.Prefix(0xcb000000 | 24)
	b := New(Config{WindowSeconds: window, BlockSeconds: 1800, WashoutSeconds: 300, GroupTrial: 2, GroupPromoted: 8, From: zero, To: zero + 86400, Treatment: "bbr"})
	set := policy.Selected{Prefix: p, State: policy.StatePromoted, Pace: policy.Pace{Cap: 1e6, Since: zero + 3*window}}
	none := set
	none.Pace = policy.Pace{}
	b.Round(zero, []policy.Selected{none})
	b.Round(zero+3*window, []policy.Selected{set})
	other := set
	other.Prefix, other.Pace.Since = p+1<<8, zero+6*window // as a block begins: its first responses may come before the plan
	b.Round(zero+6*window, []policy.Selected{set, other})
	b.Round(zero+9*window, []policy.Selected{none, other})
	row := func(w int64, capped bool, change func(*record.Window)) {
		r := record.Window{Start: zero + w*window, Prefix: p, Arm: record.ArmTreatment, Cong: "bbr", Capped: capped, Eligible: 4, RateMeans: 4, LogRateMean: 13,
			LogGoodputMean: 13, EligibleSentBytes: 1000, EligibleRetransBytes: 100, MinRTTUs: 10_000, SRTTUs: 20_000}
		if capped {
			r.LogGoodputMean, r.EligibleRetransBytes, r.SRTTUs = 13+math.Log(1.1), 10, 15_000
		}
		if change != nil {
			change(&r)
		}
		b.Window(&r)
	}
	for w := range int64(12) { // 6 to 8 count; of the other, none
		row(w, true, nil)
		row(w, false, nil)
		row(w, true, func(r *record.Window) { r.Prefix = other.Prefix })
		row(w, false, func(r *record.Window) { r.Prefix = other.Prefix })
	}
	for w := int64(3); w < 6; w++ { // long downloads that began before the cap
		row(w, false, func(r *record.Window) { r.LogGoodputMean = 20 })
	}
	row(6, false, func(r *record.Window) { r.Arm, r.Cong, r.LogGoodputMean = record.ArmControl, "cubic", 1 })
	row(6, false, func(r *record.Window) { r.Cong, r.LogGoodputMean = "cubic", 1 })
	row(6, false, func(r *record.Window) { r.Carryover, r.LogGoodputMean = true, 1 })
	row(6, false, func(r *record.Window) { r.Washout, r.LogGoodputMean = true, 1 })
	row(30, true, nil)
	e := b.Report(Grouping{}, 1).Cap
	if e.Windows != 3 || e.Networks != 1 || math.Abs(math.Exp(e.LogRatio)-1.1) > 1e-5 || math.Abs(e.CappedRetrans-0.01) > 1e-6 || math.Abs(e.ScoutsRetrans-0.1) > 1e-6 ||
		math.Abs(e.CappedQueue-1.5) > 1e-6 || math.Abs(e.ScoutsQueue-2) > 1e-6 {
		t.Errorf("%+v", e)
	}
}
