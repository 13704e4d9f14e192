package controller

import (
	"net/netip"
	"testing"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestCapInThePlan: the cap that late rates make is in the plan, under a rule that names its scouts; late rates that
// hardly move make no new plan; and a replay of the store has the same cap.
func TestCapInThePlan(t *testing.T) {
	rules := policy.DefaultRules()
	listed := netip.MustParsePrefix("198.18.2.0/24")
	rules.Always = []policy.Listed{{Net: listed, Reason: "radio"}}
	s, m := fresh(), &machine{}
	b := newBenchBy(t, s, m, t0, rules)
	prefix, _ := record.PrefixOf(listed.Addr())
	round := func(rate float64) {
		t.Helper()
		w := tried(b.plan, b.now, [5]float64{1, 1, 1, 1, 1})
		w.Rows = w.Rows[2:3]
		if r := &w.Rows[0]; r.Arm == record.ArmTreatment {
			r.LateConns, r.LateBytesPerS = 5, [2]float64{rate, 1.1 * rate}
		}
		b.now += 300
		if err := b.Round(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	for b.plan == nil || len(b.plan.Entries) == 0 || b.plan.Entries[0].CapBytesPerS == 0 {
		if round(1e6); b.now > t0+4*3600 {
			t.Fatal("no cap in four hours")
		}
	}
	p := lastPlan(t, m)
	if e := p.Entries[0]; e.Prefix != prefix || e.CapBytesPerS < 1_200_000 || e.CapBytesPerS > 1_300_000 || p.CapRule != plan.CapRuleLate {
		t.Fatalf("%+v, cap rule %s", p.Entries, p.CapRule)
	}
	plans := len(m.plans)
	for i := range 5 { // until half of the plan's life they are renewed for nothing else
		round(1e6 + 1e4*float64(i))
	}
	if len(m.plans) != plans {
		t.Errorf("%d plans more, of late rates that hardly moved", len(m.plans)-plans)
	}
	stored, err := Stored(t.Context(), s, b.opt, "test", b.Controller.now)
	if err != nil {
		t.Fatal(err)
	}
	x, err := stored.Explain(t.Context(), prefix)
	if err != nil || x.PacingCap == nil || x.PacingCap.Cap != p.Entries[0].CapBytesPerS || x.PacingCap.Conns < 20 {
		t.Errorf("replayed: %v, %+v", err, x.PacingCap)
	}
}
