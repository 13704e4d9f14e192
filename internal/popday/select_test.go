package popday_test

import (
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/popday/popdaytest"
)

// drawnDay has paths that the seed draws, and clients of another server on the lossy lines.
const drawnDay = `
name: drawn
about: ten networks whose truth is known, and three of another server
notes: Nothing was sent.
window: 2m
length: 4h
traffic: {fetches: 3, large: 150kB-250kB, pages: 1, smalls: 2, think: 100ms}
networks:
  - {name: lossy, count: 3, path: {rate: 10mbit-20mbit, rtt: 40ms-80ms, loss: 1%-3%, loss_burst: 4p, buffer: 0.5bdp-2bdp}}
  - {name: slow, count: 2, path: {rate: 4mbit, rtt: 30ms}}
  - {name: fibre, count: 5, spread: 30%, path: {rate: 30mbit, rtt: 14ms}}
  - {name: other, count: 3, behind: lossy}
expect:
  - {measure: gain_of_switch, least: 40%}
  - {measure: gain_of_switch_late, least: 40%}
  - {measure: gain_hours, most: 5}
  - {measure: extra_resent, most: 1%}
  - {measure: extra_resent, of: lossy, most: 1%}
  - {measure: resent_ratio, of: lossy, most: 1.01}
  - {measure: harmed_long, most: 0}
  - {measure: neighbour_loss, most: 70%}
  - {measure: vain, most: 3%}
  - {measure: guarded_treated, most: 0}
  - {measure: kept, of: lossy, least: 98%}
  - {measure: kept_worst, least: 93%}
  - {measure: precision, least: 80%}
  - {measure: recall, least: 65%}
`

// sideBySide returns the report of imagined runs of drawnDay.
func sideBySide(t *testing.T, truth popdaytest.Truth, policies ...string) *popday.Report {
	t.Helper()
	in := imagined(t, 1, truth, nil)
	d, err := pop.Parse("drawn.yml", []byte(drawnDay))
	if err != nil {
		t.Fatal(err)
	}
	in.Day = d
	for i, name := range policies {
		in.Runs = append(in.Runs, runOf(t, popdaytest.Imagine(d, 1, uint64(i), name, truth)))
	}
	return build(t, in)
}

func near(t *testing.T, what string, got *float64, want, by float64) {
	t.Helper()
	switch {
	case got == nil:
		t.Errorf("%s: unknown, want %g", what, want)
	case math.Abs(*got-want) > by:
		t.Errorf("%s: %g, want %g +- %g", what, *got, want, by)
	}
}

func value(i *popday.Interval) *float64 {
	if i == nil {
		return nil
	}
	return &i.Value
}

// TestRulesSideBySide: what was put into the runs of three rules comes out of each one's row. The
// treatment makes the lossy 2.5 times as fast and their neighbours 0.6 times; of ten networks
// of ten large responses each, the loop has two slow ones on trial for 2.5 of 4 hours.
func TestRulesSideBySide(t *testing.T) {
	r := sideBySide(t, popdaytest.Truth{"lossy": 2.5, "fibre": 0.75, "other": 0.6}, "cubic", "bbr", "loop", "benefit", "benefit-cap", "switch")
	if r.Lead != "loop" {
		t.Errorf("it begins with %s", r.Lead)
	}
	loop, benefit, capped := policyOf(t, r.Comparison, "loop"), policyOf(t, r.Comparison, "benefit"), policyOf(t, r.Comparison, "benefit-cap")
	bbr, oracle := policyOf(t, r.Comparison, "bbr"), policyOf(t, r.Comparison, "oracle")
	near(t, "neighbours of all-BBR", value(bbr.Neighbours), 0.6, 0.03)
	// Half of the blocks of 3.5 of 4 hours.
	near(t, "neighbours of benefit", value(benefit.Neighbours), math.Pow(0.6, 3.5/4/2), 0.06)
	near(t, "their loss", benefit.NeighbourLoss, (1-math.Pow(0.6, 3.5/4/2))/0.4, 0.12)
	near(t, "in vain, loop", loop.Vain, 2.0/10*2.5/4, 0.02)
	near(t, "in vain, benefit", benefit.Vain, 0, 0)
	// The block in which the trial begins starts at 24 minutes.
	for _, p := range []popday.PolicyRow{loop, benefit} {
		if at := p.GainAfterS; at == nil || *at < 720 || *at > 3600 {
			t.Errorf("%s has its gain after %v", p.Policy, at)
		}
		if s := p.SwitchShareLate; s == nil || s.Value < 0.2 || s.Value > 0.8 {
			t.Errorf("%s: %+v of the switch's late gain with half of the blocks", p.Policy, s)
		}
	}
	near(t, "extra of the cap", capped.Cost.Extra, 0, 0.001)
	if x := benefit.Cost.Extra; x == nil || *x < 0.05 || *x > 0.3 {
		t.Errorf("extra of benefit: %v", x)
	}
	// All-BBR harms the five fibres as well; the neighbours lose under both.
	if oracle.Harmed != 3 || bbr.Harmed != 8 || oracle.Large.P50.BytesPerS < bbr.Large.P50.BytesPerS {
		t.Errorf("the oracle harms %d, all-BBR %d", oracle.Harmed, bbr.Harmed)
	}
	for _, c := range r.Classes {
		switch {
		case c.Policy == "benefit-cap" && c.Class == "lossy":
			// Capped in half of the blocks, before and after half of the day.
			near(t, "kept", value(c.Kept), math.Pow(popdaytest.Capped, 0.5), 0.03)
			near(t, "resent of the cap", c.RetransRatio, 1, 0.001)
		case c.Kept != nil && c.Policy != "benefit-cap":
			t.Errorf("%s has a cap: %+v", c.Policy, c)
		}
	}
}

// TestSignatures: which networks each rule tried, of the three that gain among ten.
func TestSignatures(t *testing.T) {
	r := sideBySide(t, popdaytest.Truth{"lossy": 2.5, "fibre": 0.75}, "cubic", "bbr", "loop", "benefit", "switch")
	for _, want := range []popday.Signature{
		{By: "loop", Networks: 10, Gaining: 3, Tried: 5, Hits: 3},
		{By: "benefit", Networks: 10, Gaining: 3, Tried: 3, Hits: 3},
		{By: "rule: slowest fifth", Networks: 10, Gaining: 3, Tried: 2, Hits: 2},
		{By: "rule: 1/64 resent", Networks: 10, Gaining: 3, Tried: 10, Hits: 3}, // all send a 51st again
	} {
		i := slices.IndexFunc(r.Signatures, func(s popday.Signature) bool { return s.By == want.By })
		if i < 0 {
			t.Errorf("no %s", want.By)
			continue
		}
		got := r.Signatures[i]
		near(t, want.By+" precision", got.Precision, float64(want.Hits)/float64(want.Tried), 1e-9)
		near(t, want.By+" recall", got.Recall, float64(want.Hits)/float64(want.Gaining), 1e-9)
		if got.Precision, got.Recall = nil, nil; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestHarmedWhileTreated: three networks are at half their pace in treated blocks for far longer than 48
// minutes. One interval in forty lies below 1 where nothing changed: of the two slow ones, one may.
func TestHarmedWhileTreated(t *testing.T) {
	r := sideBySide(t, popdaytest.Truth{"lossy": 0.5}, "cubic", "bbr", "loop")
	classes := map[string]int{}
	for _, h := range r.LongHarms {
		classes[h.Class]++
		if h.Class == "lossy" && math.Abs(h.Ratio.Value-0.5) > 0.1 || h.TreatedS < 4000 || h.TreatedS > 9000 {
			t.Errorf("%+v %+v", h, h.Ratio)
		}
	}
	if classes["lossy"] != 3 || classes["slow"] > 1 || len(classes) > 2 {
		t.Errorf("%v", classes)
	}
	if a := answersOf(r)["harmed_long"]; a != popday.No {
		t.Errorf("harmed_long: %s", a)
	}
}

// TestDrawnNetworksAreNamed with what the seed drew and what became of them.
func TestDrawnNetworksAreNamed(t *testing.T) {
	r := sideBySide(t, popdaytest.Truth{"lossy": 2.5}, "cubic", "bbr")
	if len(r.Drawn) != 3 {
		t.Fatalf("%+v", r.Drawn)
	}
	for _, n := range r.Drawn {
		if n.Class != "lossy" || n.RateBitPerS < 10e6 || n.RateBitPerS > 20e6 || n.RTTUs < 40_000 || n.RTTUs > 80_000 || n.LossPPM < 10_000 || n.LossPPM > 30_000 ||
			n.LossBurst != 4 || n.BufferBytes == 0 || n.Median <= 0 || len(n.Beside) != 2 || n.Beside[0].Verdict != "helped" {
			t.Errorf("%+v", n)
		}
	}
	if r = build(t, imagined(t, 1, truth, []uint64{1}, "cubic", "bbr")); r.Drawn != nil || r.Policy("oracle") != nil {
		t.Errorf("of a day that draws none: %+v", r.Drawn)
	}
}

// TestEachRuleAnswers: what the day expects is asked of each policy, and of no policy what needs
// another run.
func TestEachRuleAnswers(t *testing.T) {
	r := sideBySide(t, popdaytest.Truth{"lossy": 2.5, "other": 0.6}, "cubic", "bbr", "benefit", "benefit-cap", "switch")
	got := map[[2]string]popday.Answer{}
	for _, e := range r.Expected {
		got[[2]string{e.Policy, e.Measure}] = e.Answer
	}
	for k, want := range map[[2]string]popday.Answer{
		{"benefit", "extra_resent"}: popday.No, {"benefit-cap", "extra_resent"}: popday.Yes, {"benefit-cap", "resent_ratio"}: popday.Yes,
		{"benefit", "kept"}: "", {"benefit-cap", "kept"}: popday.No,
		{"benefit", "vain"}: popday.Yes, {"benefit", "gain_hours"}: popday.Yes, {"benefit", "neighbour_loss"}: popday.Yes,
		{"benefit", "precision"}: popday.Yes, {"benefit", "recall"}: popday.Yes, {"benefit", "guarded_treated"}: popday.Yes, {"benefit", "harmed_long"}: popday.Yes,
	} {
		if got[k] != want {
			t.Errorf("%v: %q, want %q", k, got[k], want)
		}
	}
	if r.Lead != "benefit-cap" {
		t.Errorf("it begins with %s", r.Lead)
	}
}
