package comparison

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// morning is 2026-11-20T00:00:00Z, a block's start.
const morning = 1_795_132_800

const (
	testWindow = 300
	testBlock  = 1800
)

var salt = []byte("sixteen bytes or")

// town is a few networks with known truth.
type town struct {
	rnd    *rand.Rand
	draws  *plan.Draws
	effect float64 // factor of the treatment
	chosen []policy.Selected
	level  map[record.Prefix]float64
}

func newTown(seed uint64, effect float64) *town {
	return &town{rnd: rand.New(rand.NewPCG(seed, 3)), draws: plan.NewDraws(salt, 0, 0), effect: effect, level: map[record.Prefix]float64{}}
}

func (w *town) add(state policy.State, role record.Arm, level float64) record.Prefix {
	p := record.Prefix(0xcb000000 | uint32(len(w.chosen))<<8 | 24)
	w.chosen = append(w.chosen, policy.Selected{Prefix: p, State: state, Role: role, Since: morning})
	w.level[p] = level
	return p
}

func (w *town) groupLen(s policy.Selected) int {
	if s.State == policy.StateTrial {
		return 2
	}
	return 8
}

// run feeds hours of windows into a builder.
func (w *town) run(hours int64) *Builder { return w.runFrom(0, hours) }

// runFrom is asked for the hours from one on only.
func (w *town) runFrom(from, hours int64) *Builder {
	b := New(Config{WindowSeconds: testWindow, BlockSeconds: testBlock, WashoutSeconds: testWindow, GroupTrial: 2, GroupPromoted: 8,
		From: morning + from*3600, To: morning + hours*3600, ArmOf: w.draws.Arm})
	b.Round(morning, w.chosen)
	for start := int64(morning); start < morning+hours*3600; start += testWindow {
		for _, s := range w.chosen {
			w.window(b, s, start)
		}
	}
	return b
}

func (w *town) window(b *Builder, s policy.Selected, start int64) {
	row := record.Window{Start: start, Prefix: s.Prefix, Arm: w.draws.Arm(s.Prefix, w.groupLen(s), start/testBlock), MinRTTUs: 30_000, SRTTUs: 40_000}
	factor := 1.0
	switch {
	case s.Role != record.ArmNone:
		row.Arm = s.Role
	case row.Arm == record.ArmTreatment:
		factor, row.SRTTUs = w.effect, 50_000
	}
	row.Washout = row.Arm <= record.ArmControl && start%testBlock < testWindow
	row.Control = row.Arm != record.ArmTreatment && !row.Washout
	var values []float64
	good := goodput.Row{Key: goodput.Key{Window: start, Prefix: s.Prefix, Arm: row.Arm, Washout: row.Washout, Tenant: []string{"", "shop"}[w.rnd.IntN(2)]}}
	for range 4 + w.rnd.IntN(6) {
		v := w.level[s.Prefix] * factor * math.Exp(0.6*w.rnd.NormFloat64())
		values = append(values, v)
		row.LogRateMean += math.Log(v)
		good.BytesPerS = append(good.BytesPerS, float32(v*0.8))
	}
	filled := rowOf(values)
	row.Eligible, row.RateBytesPerS = filled.Eligible, filled.RateBytesPerS
	good.N = filled.Eligible
	row.LogRateMean /= float64(len(values))
	row.LogRateVar = 0.36
	row.EligibleSentBytes, row.EligibleRetransBytes = 1e6, 10_000
	if row.Arm == record.ArmTreatment {
		row.EligibleRetransBytes = 30_000
	}
	b.Window(&row)
	b.Goodput(&good)
}

func inside(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if !(got >= low && got <= high) {
		t.Errorf("%s: %v, want %v to %v", what, got, low, high)
	}
}

// TestKnownEffect: a factor of 1.5 is found in every metric, with its cost; where
// nothing is done nothing is found.
func TestKnownEffect(t *testing.T) {
	w := newTown(1, 1.5)
	for i := range 12 {
		w.add([]policy.State{policy.StateTrial, policy.StatePromoted}[i%2], record.ArmNone, 4e5)
	}
	for range 6 {
		w.add(policy.StateTrial, record.ArmAA, 4e5)
	}
	r := w.run(8).Report(Grouping{Tenants: true}, 1)
	// 6 on trial have 8 pairs each in 8 h, 6 promoted 2: groups of 4 h begin at midnight.
	if r.Networks != 12 || r.Cost.Pairs != 6*8+6*2 {
		t.Errorf("%d networks, %d pairs", r.Networks, r.Cost.Pairs)
	}
	found := map[string]int{}
	for _, e := range r.Estimates {
		found[e.Metric.String()+"/"+e.Label]++
		for _, q := range e.Ratios {
			inside(t, e.Metric.String()+" "+e.Label, q.Ratio, 1.35, 1.65)
			if !(q.Low < 1.5 && q.High > 1.5 && q.High/q.Low < 1.4) {
				t.Errorf("%s %q: %v to %v", e.Metric, e.Label, q.Low, q.High)
			}
		}
	}
	if found["delivery rate/"] != 1 || found["goodput/"] != 2 || found["goodput/shop"] != 1 || found["goodput of all/"] != 2 || len(r.Estimates) != 7 {
		t.Errorf("estimates: %v", found)
	}
	inside(t, "overall", math.Exp(r.Overall.LogRatio), 1.42, 1.58)
	inside(t, "retransmitted, treatment", r.Cost.TreatmentRetrans, 0.0299, 0.0301)
	inside(t, "retransmitted, control", r.Cost.ControlRetrans, 0.0099, 0.0101)
	inside(t, "queue, treatment", r.Cost.TreatmentQueueUs, 19_999, 20_001)
	inside(t, "queue, control", r.Cost.ControlQueueUs, 9_999, 10_001)
	if len(r.AA) == 0 {
		t.Fatal("no A/A estimate")
	}
	for _, e := range r.AA {
		inside(t, "A/A "+e.Metric.String(), e.Ratios[1].Ratio, 0.9, 1.1)
		if e.Faulty() {
			t.Errorf("A/A %s: %+v", e.Metric, e.Ratios[1])
		}
	}
	if r.HoldOut.Known || r.HoldOut.Held != 0 || r.HoldOut.Open != 12 {
		t.Errorf("hold-out: %+v", r.HoldOut)
	}
}

// TestWeighted: promoted networks are slow and treated 7 blocks of 8, those on trial
// fast and treated every second. Nothing happens; counted alike, it would look like harm.
func TestWeighted(t *testing.T) {
	w := newTown(2, 1)
	for range 15 {
		w.add(policy.StatePromoted, record.ArmNone, 2e5)
		w.add(policy.StateTrial, record.ArmNone, 8e5)
	}
	b := w.run(8)
	r := b.Report(Grouping{}, 1)
	inside(t, "weighted p10", r.Estimates[0].Ratios[1].Ratio, 0.94, 1.06)
	inside(t, "weighted p50", r.Estimates[0].Ratios[2].Ratio, 0.94, 1.06)
	var naive [3][]float64
	for k, list := range b.cells {
		for _, v := range list {
			if k.metric.metric == Rate {
				naive[k.arm] = append(naive[k.arm], v.at)
			}
		}
	}
	off := medianOf(naive[record.ArmTreatment]) / medianOf(naive[record.ArmControl])
	if off > 0.8 {
		t.Errorf("counted alike it should look like harm, and is %v", off)
	}
}

// TestCutGroups: four hours are asked for, from the middle of one group of promoted networks to
// the middle of their next one, so that at most four blocks of a group are in them. Nothing
// happens: the ratios are 1 on average, within 3.3 standard errors (all but one run in 1,000), and
// of 12 intervals of 95 % at most 3 exclude 1 (all but one in 500).
func TestCutGroups(t *testing.T) {
	const seeds = 12
	var sum, squares [3]float64
	var excluded [3]int
	for seed := range uint64(seeds) {
		w := newTown(100+seed, 1)
		w.draws = plan.NewDraws([]byte{byte(seed), 15: 1}, 0, 0)
		for range 15 {
			w.add(policy.StatePromoted, record.ArmNone, 2e5)
			w.add(policy.StateTrial, record.ArmNone, 8e5)
		}
		for q, r := range w.runFrom(2, 6).Report(Grouping{}, seed).Estimates[0].Ratios {
			d := math.Log(r.Ratio)
			sum[q], squares[q] = sum[q]+d, squares[q]+d*d
			if r.Low > 1 || r.High < 1 {
				excluded[q]++
			}
		}
	}
	for q, at := range effect.Quantiles {
		mean := sum[q] / seeds
		se := math.Sqrt((squares[q]/seeds - mean*mean) / (seeds - 1))
		t.Logf("p%.0f: x %.3f (+- %.3f), %d of %d intervals exclude 1", 100*at, math.Exp(mean), se, excluded[q], seeds)
		if math.Abs(mean) > 3.3*se || excluded[q] > 3 {
			t.Errorf("p%.0f: want x 1 +- %.3f, and at most 3 intervals that exclude it", 100*at, 3.3*se)
		}
	}
}

// TestHoldOut: 20 held out, 20 treated at 1.5.
func TestHoldOut(t *testing.T) {
	w := newTown(3, 1.5)
	for range 20 {
		w.add(policy.StateTrial, record.ArmHoldout, 4e5)
		w.add(policy.StatePromoted, record.ArmNone, 4e5)
	}
	h := w.run(8).Report(Grouping{}, 1).HoldOut
	if !h.Known || h.Held != 20 || h.Open != 20 {
		t.Fatalf("%+v", h)
	}
	inside(t, "programme", h.Ratio, 1.35, 1.5) // an eighth of the blocks is control
}
