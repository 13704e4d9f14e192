package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestMeanByHand(t *testing.T) {
	var m Mean
	if !math.IsNaN(m.Value()) || m.Weight() != 0 {
		t.Errorf("empty mean: %v, weight %v", m.Value(), m.Weight())
	}
	m.Add(100, 2)
	m.Add(400, 4)
	m.Add(1e9, 0)
	m.Add(1e9, -1)
	if m.Value() != 300 || m.Weight() != 6 {
		t.Errorf("mean %v of weight %v, want 300 of 6", m.Value(), m.Weight())
	}
}

// TestMeanOrder: whole numbers give the correctly rounded mean in any order.
func TestMeanOrder(t *testing.T) {
	type item struct{ x, w int64 }
	rapid.Check(t, func(rt *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) item {
			return item{rapid.Int64Range(0, 1e10).Draw(rt, "x"), rapid.Int64Range(1, 10_000).Draw(rt, "w")}
		}), 1, 20).Draw(rt, "items")
		sum, weight := new(big.Int), new(big.Int)
		for _, i := range items {
			sum.Add(sum, big.NewInt(i.x*i.w))
			weight.Add(weight, big.NewInt(i.w))
		}
		want, _ := new(big.Rat).SetFrac(sum, weight).Float64()
		rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)).Shuffle(len(items), func(i, j int) {
			items[i], items[j] = items[j], items[i]
		})
		var m Mean
		for _, i := range items {
			m.Add(float64(i.x), float64(i.w))
		}
		if m.Value() != want {
			rt.Fatalf("mean %v, exactly %v", m.Value(), want)
		}
	})
}

// TestWeightedMoments: a weight of k is k equal values.
func TestWeightedMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var x, w, repeated []float64
	for range 200 {
		v, k := rng.NormFloat64(), 1+rng.IntN(5)
		x, w = append(x, v), append(w, float64(k))
		for range k {
			repeated = append(repeated, v)
		}
	}
	mean, variance := WeightedMoments(x, w)
	if m, v := Moments(repeated); math.Abs(mean-m) > 1e-12 || math.Abs(variance-v) > 1e-12 {
		t.Errorf("%v and %v, repeated %v and %v", mean, variance, m, v)
	}
}
