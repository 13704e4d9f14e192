package effect

import (
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// few has one pair for each factor: control 1, 2, ... 13, treatment the same times the factor.
func few(factors ...float64) (list []Sample) {
	for g, f := range factors {
		for v := 1.0; v <= 13; v++ {
			list = append(list, Sample{7, 0, int64(g), 0, record.ArmControl, v, 2}, Sample{7, 0, int64(g), 0, record.ArmTreatment, f * v, 2})
		}
	}
	return list
}

// TestPoolByStudent: three pairs with ratios 1, 2, 4: their ln has mean ln 2 and standard
// error ln 2 / sqrt 3, t(97.5 %, 2) is 4.3027.
func TestPoolByStudent(t *testing.T) {
	got := Pool(few(1, 2, 4), 1)
	if got.Pairs != 3 || got.Method != StudentOfPairs || got.Treatment != 39 || got.Control != 39 || got.Method.String() != "t over pairs" {
		t.Fatalf("%+v", got)
	}
	half := 4.30265 * math.Ln2 / math.Sqrt(3)
	for _, r := range got.Ratios {
		if math.Abs(r.Ratio-2) > 1e-9 || math.Abs(math.Log(r.High/2)-half) > 1e-4 || math.Abs(math.Log(2/r.Low)-half) > 1e-4 {
			t.Errorf("%+v, want 2 and x/%.3f", r, math.Exp(half))
		}
	}
}

// TestPoolByBootstrap: nine pairs of one ratio have no spread at all.
func TestPoolByBootstrap(t *testing.T) {
	got := Pool(few(2, 2, 2, 2, 2, 2, 2, 2, 2), 1)
	for _, r := range got.Ratios {
		if got.Method != BootstrapOfPairs || math.Abs(r.Ratio-2) > 1e-12 || math.Abs(r.Low-2) > 1e-12 || math.Abs(r.High-2) > 1e-12 {
			t.Errorf("%v: %+v", got.Method, r)
		}
	}
	if got.Ratios[2].Control != 7 || got.Ratios[2].Treatment != 14 {
		t.Errorf("medians %+v", got.Ratios[2])
	}
}

func TestPoolSaysWhatItCannot(t *testing.T) {
	if got := Pool(nil, 1); got != (Pooled{}) {
		t.Errorf("of nothing: %+v", got)
	}
	two := Pool(few(1, 2), 1)
	if two.Method != NoInterval || two.Ratios[0].Low != 0 || two.Ratios[0].High != 0 || !(two.Ratios[2].Ratio > 1) {
		t.Errorf("of two pairs: %+v", two)
	}
	// One arm alone, an arm that is neither, a value without a logarithm.
	odd := append(few(1, 2), Sample{8, 0, 0, 0, record.ArmTreatment, 5, 2}, Sample{7, 0, 0, 0, record.ArmAA, 5, 2}, Sample{7, 0, 1, 0, record.ArmControl, 0, 2})
	if got := Pool(odd, 1); got.Partial != 1 || got.Pairs != 2 || got.Treatment != 26 || got.Control != 26 {
		t.Errorf("with odd samples: %+v", got)
	}
	// 12 values an arm cannot tell p5, 7 can tell p10.
	short := slices.DeleteFunc(few(1, 2, 4), func(s Sample) bool { return s.Value == 1 && s.Arm == record.ArmControl })
	if got := Pool(short, 1); got.Ratios[0].High != 0 || got.Ratios[1].High == 0 {
		t.Errorf("12 controls a pair: %+v", got.Ratios)
	}
}

// TestPoolIsTheSameInAnyOrder, and another seed is another answer.
func TestPoolIsTheSameInAnyOrder(t *testing.T) {
	r := stat.NewRand(3, 3)
	list := samplesOf(r, city, 4, 5)
	want := Pool(list, 9)
	for i := len(list) - 1; i > 0; i-- {
		j := r.Index(i + 1)
		list[i], list[j] = list[j], list[i]
	}
	if got := Pool(list, 9); got != want {
		t.Errorf("shuffled: %+v, want %+v", got, want)
	}
	if got := Pool(list, 10); got == want {
		t.Error("the seed changes nothing")
	}
}

// TestBootstrapAgainstCopies: the slow way to draw pairs, by copying their samples.
func TestBootstrapAgainstCopies(t *testing.T) {
	r := stat.NewRand(4, 4)
	list := samplesOf(r, city.with(1.6, 3, 8), 3, 4)
	a := byPair(list)
	for range 20 {
		d := &drawn{times: make([]float64, a.pairs)}
		var values, weights []float64
		for range a.pairs {
			d.times[r.Index(a.pairs)]++
		}
		for i, pair := range a.t.pairs {
			for range int(d.times[pair]) {
				values, weights = append(values, a.t.values[i]), append(weights, a.t.weights[i])
			}
		}
		for i, got := range d.quantiles(a.t) {
			if want := stat.Weighted(values, stat.Running(weights), effective(weights), Quantiles[i]); math.Abs(got/want-1) > 1e-9 {
				t.Fatalf("drawn %v: %v, with copies %v", d.times, got, want)
			}
		}
	}
}

func TestWeight(t *testing.T) {
	if got := [2]float64{Weight(record.ArmTreatment, 0.875), Weight(record.ArmControl, 0.875)}; got != [2]float64{8. / 7, 8} {
		t.Errorf("weights %v", got)
	}
}

// TestExpanded: 0.0072 for nine pairs is Phi(-2.446), and many are the normal's 2.5 %.
func TestExpanded(t *testing.T) {
	if got := expanded(9); math.Abs(got-0.00722) > 1e-4 {
		t.Errorf("nine: %v", got)
	}
	if got := expanded(100_000); math.Abs(got-0.025) > 1e-4 {
		t.Errorf("many: %v", got)
	}
}

// effective returns how many equal observations weights are worth (Kish).
func effective(w []float64) float64 { return float64(len(w)) * stat.Jain(w) }
