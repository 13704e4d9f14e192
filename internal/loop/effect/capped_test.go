package effect

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// besides draws windows of networks whose level moves from window to window by far more than the cap does: each of n
// connections is a scout with one in ten, and shows its network's level, the effect if it is capped, and noise of its own.
func besides(rng *rand.Rand, windows, n int, effect float64) (list []Beside) {
	for w := range windows {
		b := Beside{Prefix: record.Prefix(1 + w%5)}
		level := 13 + rng.NormFloat64()
		for range n {
			x := Side{N: 1, LogGoodput: float32(level + 0.3*rng.NormFloat64()), RetransShare: 0.12, Queue: 1.8}
			if rng.IntN(10) == 0 {
				b.Scouts = b.Scouts.Join(x)
				continue
			}
			x.LogGoodput, x.RetransShare, x.Queue = x.LogGoodput+float32(effect), 0.01, 1.2
			b.Capped = b.Capped.Join(x)
		}
		list = append(list, b)
	}
	return list
}

// TestCappedCovers: the bounds hold the truth at every look of a run, in at least 95 % of runs, and are not far away.
func TestCappedCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	const runs, truth = 200, -0.03
	missed, sum, width := 0, 0.0, 0.0
	for range runs {
		list := besides(rng, 800, 8, truth)
		wrong := false
		for _, n := range []int{100, 200, 400, 800} {
			e := Capped(list[:n])
			wrong = wrong || e.Known && (e.Low > truth || e.High < truth)
		}
		e := Capped(list)
		if !e.Known || e.Networks != 5 {
			t.Fatalf("%+v", e)
		}
		if wrong {
			missed++
		}
		sum, width = sum+e.LogRatio/runs, width+(e.High-e.Low)/2/runs
	}
	t.Logf("mean %.4f, truth %v, half width %.3f, missed in %d of %d runs", sum, truth, width, missed, runs)
	if math.Abs(sum-truth) > 0.005 || missed > runs/20 || width > 0.08 {
		t.Errorf("mean %.4f, truth %v, half width %.3f, missed in %d of %d runs", sum, truth, width, missed, runs)
	}
}

// TestCappedNeedsBoth: a window without a scout, or of scouts alone, compares nothing, and fewer than 30 have no bounds.
func TestCappedNeedsBoth(t *testing.T) {
	one := Side{N: 3, LogGoodput: 13, RetransShare: 0.1, Queue: 2}
	if e := Capped([]Beside{{Prefix: 1, Capped: one}, {Prefix: 1, Scouts: one}}); e != (CapEffect{}) {
		t.Errorf("%+v of windows with one side", e)
	}
	held := Side{N: 9, LogGoodput: 13 + float32(math.Log(0.9)), RetransShare: 0.02, Queue: 1.5}
	e := Capped([]Beside{{1, held, one}, {2, held, one}, {1, held, Side{}}})
	if e.Windows != 2 || e.Networks != 2 || math.Abs(math.Exp(e.LogRatio)-0.9) > 1e-6 || e.Known ||
		math.Abs(e.CappedRetrans-0.02) > 1e-6 || math.Abs(e.ScoutsRetrans-0.1) > 1e-6 || e.CappedQueue != 1.5 || e.ScoutsQueue != 2 {
		t.Errorf("%+v", e)
	}
}
