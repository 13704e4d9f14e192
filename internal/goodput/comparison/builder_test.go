package comparison

import (
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

func medianOf(x []float64) float64 {
	slices.Sort(x)
	return stat.Sorted(x, 0.5)
}

func netOf(t *testing.T, s string) record.Prefix {
	t.Helper()
	p, err := record.ParsePrefix(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// one is a row of one connection.
func one(p record.Prefix, start int64, arm record.Arm, rate float64) *record.Window {
	return &record.Window{Start: start, Prefix: p, Arm: arm, Control: arm != record.ArmTreatment, Eligible: 1,
		RateBytesPerS: [5]float64{rate, rate, rate, rate, rate}, LogRateMean: math.Log(rate), MinRTTUs: 30_000, SRTTUs: 45_000,
		EligibleSentBytes: 1000, EligibleRetransBytes: 20}
}

func plainLoop() Config {
	return Config{WindowSeconds: testWindow, BlockSeconds: testBlock, WashoutSeconds: testWindow, GroupTrial: 2, GroupPromoted: 2,
		From: morning, To: morning + 86400}
}

func chosen(p record.Prefix, state policy.State) []policy.Selected {
	return []policy.Selected{{Prefix: p, State: state}}
}

// A pair by hand: the control block has 100 kB/s, the treated one 300 kB/s.
func TestOnePair(t *testing.T) {
	b, p := New(plainLoop()), netOf(t, "203.0.113.0/24")
	b.Round(morning, chosen(p, ""))
	b.Window(one(p, morning+300, record.ArmControl, 100_000))
	b.Window(one(p, morning+testBlock+300, record.ArmTreatment, 300_000))
	b.Goodput(&goodput.Row{Key: goodput.Key{Window: morning + 300, Prefix: p, Arm: record.ArmControl}, N: 2, BytesPerS: []float32{50, 50}})
	b.Goodput(&goodput.Row{Key: goodput.Key{Window: morning + testBlock + 300, Prefix: p, Arm: record.ArmTreatment}, N: 1, BytesPerS: []float32{100}})
	r := b.Report(Grouping{}, 1)
	if len(r.Estimates) != 3 || r.Estimates[0].Pairs != 1 || r.Rows != 2 {
		t.Fatalf("%+v", r)
	}
	inside(t, "rate", r.Estimates[0].Ratios[2].Ratio, 2.999, 3.001)
	inside(t, "goodput", r.Estimates[1].Ratios[0].Ratio, 1.999, 2.001)
	inside(t, "overall", math.Exp(r.Overall.LogRatio), 2.999, 3.001)
	if r.Before.Prefixes != 0 {
		t.Errorf("before: %+v", r.Before)
	}
}

// TestGroupsOfTheirTime: a round says how many blocks the groups of a network had then, whatever the configuration says now.
// Rounds of earlier versions do not, and the block in which that changes counts.
func TestGroupsOfTheirTime(t *testing.T) {
	p := netOf(t, "203.0.113.0/24")
	c := plainLoop()
	b := New(c)
	for at, group := range []int{24, 24, 4} { // of 24 blocks for two, then of 4
		s := chosen(p, policy.StatePromoted)
		s[0].Group = group
		b.Round(morning+int64(at)*2*testBlock-testBlock/2*int64(at%2), s)
	}
	for block := range int64(8) {
		b.Window(one(p, morning+block*testBlock+300, record.ArmTreatment, 1000))
	}
	blocks := map[int64]int{}
	for _, s := range b.pairs {
		blocks[(s.end-morning)/testBlock] = len(s.treated)
	}
	if first := int64(morning / testBlock); len(blocks) != 2 || first%4 != 0 || blocks[24-first%24] != 4 || blocks[8] != 4 {
		t.Errorf("treated blocks by end of group: %v, first block %d", blocks, first)
	}
}

// What counts nowhere: a block that the network came into or left, one of two states,
// wash-out, carry-over, an arm that the salt did not draw, times outside, no choice.
func TestLeftOut(t *testing.T) {
	p, q := netOf(t, "203.0.113.0/24"), netOf(t, "198.51.100.0/24")
	b := New(plainLoop())
	b.Round(morning+600, chosen(p, policy.StateTrial))                // in the middle of block 0
	b.Round(morning+2*testBlock+600, chosen(p, policy.StatePromoted)) // in the middle of block 2
	b.Round(morning+4*testBlock+600, nil)                             // in the middle of block 4
	for _, c := range []struct {
		name   string
		start  int64
		change func(*record.Window)
	}{
		{"came in", morning + 900, nil},
		{"changed its state", morning + 2*testBlock + 300, nil},
		{"left", morning + 4*testBlock + 300, nil},
		{"not chosen any more", morning + 5*testBlock + 300, nil},
		{"wash-out, in a row of an earlier version", morning + testBlock + 300, func(w *record.Window) { w.Washout = true }},
		{"carry-over", morning + testBlock + 300, func(w *record.Window) { w.Carryover = true }},
		{"nobody eligible", morning + testBlock + 300, func(w *record.Window) { w.Eligible = 0 }},
		{"arm none", morning + testBlock + 300, func(w *record.Window) { w.Arm = record.ArmNone }},
		{"never chosen", morning + testBlock + 300, func(w *record.Window) { w.Prefix = q }},
		{"too late", morning + 86400 + 300, nil},
		{"too early", morning - 300, nil},
	} {
		w := one(p, c.start, record.ArmControl, 1000)
		if c.change != nil {
			c.change(w)
		}
		if b.Window(w); len(b.cells) != 0 || len(b.pairs) != 0 {
			t.Fatalf("%s: counted", c.name)
		}
	}
	b.Window(one(p, morning+testBlock+300, record.ArmControl, 1000))
	b.Window(one(p, morning+3*testBlock+300, record.ArmControl, 1000))
	if len(b.pairs) != 2 { // on trial, and promoted
		t.Errorf("%d pairs", len(b.pairs))
	}
	// The same with a salt that draws the other arm.
	b.cfg.ArmOf = oneArm(record.ArmTreatment).Arm
	b.cells = cells{}
	if b.Window(one(p, morning+testBlock+300, record.ArmControl, 1000)); len(b.cells) != 0 {
		t.Error("an arm that was not drawn: counted")
	}
}

type oneArm record.Arm

func (a oneArm) Arm(record.Prefix, int, int64) record.Arm { return record.Arm(a) }

// A window that is not to be trusted counts nowhere.
func TestSkip(t *testing.T) {
	b, p := New(plainLoop()), netOf(t, "203.0.113.0/24")
	b.Round(morning, chosen(p, ""))
	b.Skip(morning + 300)
	b.Window(one(p, morning+300, record.ArmControl, 1000))
	b.Goodput(&goodput.Row{Key: goodput.Key{Window: morning + 300, Prefix: p, Arm: record.ArmControl}, N: 1, BytesPerS: []float32{50}})
	if len(b.cells) != 0 || len(b.means) != 0 {
		t.Error("counted")
	}
}

// Evidence from: what policy says does not count does not.
func TestEvidenceFrom(t *testing.T) {
	b, p := New(plainLoop()), netOf(t, "203.0.113.0/24")
	b.Round(morning, []policy.Selected{{Prefix: p, State: policy.StateTrial, From: morning + testBlock}})
	b.Window(one(p, morning+300, record.ArmControl, 1000))
	if len(b.cells) != 0 {
		t.Error("a block before the evidence counts")
	}
	b.Window(one(p, morning+testBlock+300, record.ArmControl, 1000))
	if len(b.cells) != 1 {
		t.Error("a block of the evidence does not")
	}
}

// Another change: networks are compared with themselves before, treated rows apart.
func TestChange(t *testing.T) {
	cfg := plainLoop()
	cfg.ChangeAt = morning + 6*3600 + 10
	b := New(cfg)
	for i := range 12 {
		p := record.Prefix(0xcb000000 | uint32(i)<<8 | 24)
		for start := int64(morning); start < morning+12*3600; start += 1800 {
			rate := 1e5 * float64(i+1)
			if start > cfg.ChangeAt {
				rate *= 1.2
			}
			b.Window(one(p, start, record.ArmNone, rate))
			b.Window(one(p, start, record.ArmTreatment, rate*9))
		}
	}
	e := b.Report(Grouping{}, 1).Estimates
	if len(e) != 1 || e[0].Pairs != 12 {
		t.Fatalf("%+v", e)
	}
	inside(t, "p50", e[0].Ratios[2].Ratio, 1.19, 1.21)
	// The window of the change itself, 06:00:10, is on no side: 12 before, 11 after.
	if e[0].Control != 12*12 || e[0].Treatment != 12*11 {
		t.Errorf("%d before, %d after", e[0].Control, e[0].Treatment)
	}
}

// Before and after the choice: the control blocks took 1.5 of the 3 for themselves.
func TestBeforeAfter(t *testing.T) {
	b, p := New(plainLoop()), netOf(t, "203.0.113.0/24")
	b.Round(morning+testBlock, chosen(p, ""))
	b.Window(one(p, morning-4*3600, record.ArmNone, 7_000_000)) // too long ago
	b.Window(one(p, morning-300, record.ArmNone, 100_000))
	b.Window(one(p, morning+2*testBlock+300, record.ArmControl, 150_000))
	b.Window(one(p, morning+3*testBlock+300, record.ArmTreatment, 300_000))
	c := b.Report(Grouping{}, 1).Before
	inside(t, "naive", c.Naive, 2.999, 3.001)
	inside(t, "untreated", c.Untreated, 1.499, 1.501)
	inside(t, "effect", c.Effect, 1.999, 2.001)
	if got := b.Class(p); got != "20-100 ms, above 1 % lost" {
		t.Errorf("class %q", got)
	}
	if got := b.Class(netOf(t, "198.51.100.0/24")); got != "" {
		t.Errorf("class of nobody: %q", got)
	}
}

// By network: each label on its own.
func TestByLabel(t *testing.T) {
	b := New(plainLoop())
	p, q := netOf(t, "203.0.113.0/24"), netOf(t, "198.51.100.0/24")
	b.Round(morning, append(chosen(p, ""), chosen(q, "")...))
	for _, x := range []struct {
		p    record.Prefix
		rate float64
	}{{p, 200_000}, {q, 400_000}} {
		b.Window(one(x.p, morning+300, record.ArmControl, 100_000))
		b.Window(one(x.p, morning+testBlock+300, record.ArmTreatment, x.rate))
	}
	label := func(x record.Prefix) string {
		if x == p {
			return "cable"
		}
		return ""
	}
	e := b.Report(Grouping{Of: label}, 1).Estimates
	if len(e) != 3 || e[0].Part || e[1].Label != "" || !e[1].Part || e[2].Label != "cable" {
		t.Fatalf("%+v", e)
	}
	inside(t, "cable", e[2].Ratios[2].Ratio, 1.999, 2.001)
	inside(t, "others", e[1].Ratios[2].Ratio, 3.999, 4.001)
}

// Thinning keeps quantiles where they are.
func TestThinned(t *testing.T) {
	var list []value
	for i := range 10_000 {
		list = append(list, value{at: float64(i), weight: 1})
	}
	sum, low := 0.0, 0.0
	for cell := range 200 {
		got := thinned(slices.Clone(list), 7, cellKey{pair: pairKey{group: int64(cell)}}.start())
		if len(got) != 7 {
			t.Fatalf("%d values", len(got))
		}
		for _, v := range got {
			sum += v.weight
			if v.at < 500 {
				low += v.weight
			}
		}
	}
	inside(t, "weight", sum, 1_999_999, 2_000_001)
	inside(t, "share below p5", low/sum, 0.035, 0.065)
}

// TestListed: what the operator lists is compared like what was promoted; without
// control blocks there is nothing to compare.
func TestListed(t *testing.T) {
	p := netOf(t, "203.0.113.0/24")
	for _, c := range []struct {
		uncontrolled bool
		pairs        int
	}{{false, 1}, {true, 0}} {
		b := New(plainLoop())
		b.Round(morning, []policy.Selected{{Prefix: p, State: policy.StateAlways, From: morning, Uncontrolled: c.uncontrolled}})
		b.Window(one(p, morning+300, record.ArmControl, 100_000))
		b.Window(one(p, morning+testBlock+300, record.ArmTreatment, 300_000))
		if len(b.pairs) != c.pairs {
			t.Errorf("uncontrolled %t: %d pairs", c.uncontrolled, len(b.pairs))
		}
	}
}

// TestAllAsOne: networks that one draw decides about are one pair a group. A control block in which all of them happen to be fast is
// one finding, and not as many as there are networks.
func TestAllAsOne(t *testing.T) {
	c := plainLoop()
	c.ArmOf = func(p record.Prefix, groupLen int, block int64) record.Arm {
		if p != record.All || groupLen != 2 {
			t.Errorf("drawn for %s in groups of %d", p, groupLen)
		}
		return []record.Arm{record.ArmControl, record.ArmTreatment}[block%2]
	}
	b := New(c)
	b.Round(morning, chosen(record.All, policy.StateAlways))
	for block := range int64(8) {
		arm := []record.Arm{record.ArmControl, record.ArmTreatment}[(morning/testBlock+block)%2]
		for i := range 20 {
			p := netOf(t, "203.0.113.0/24") + record.Prefix(i)<<8
			b.Window(one(p, morning+block*testBlock+300, arm, 100_000*(1+float64(i)/20)))
		}
	}
	r := b.Report(Grouping{Of: func(record.Prefix) string { return "one" }}, 1)
	if len(r.Estimates) != 2 || r.Estimates[0].Pairs != 4 || r.Estimates[0].Method != effect.StudentOfPairs || r.Estimates[1].Pairs != 4 || r.Networks != 20 || r.Overall.Pairs != 4 {
		t.Errorf("%+v", r)
	}
}
