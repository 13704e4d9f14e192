package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Definition 7 worked out by hand: the same definition as numpy.quantile (method
// "linear") and R's quantile(type = 7).
var known = []struct {
	x    []float64
	q    float64
	want float64
}{
	{[]float64{7}, 0.3, 7},
	{[]float64{1, 2}, 0.5, 1.5},
	{[]float64{1, 2, 3, 4}, 0.25, 1.75},
	{[]float64{1, 2, 3, 4}, 0.5, 2.5},
	{[]float64{1, 2, 3, 4}, 0.75, 3.25},
	{[]float64{1, 2, 3, 4, 5}, 0.2, 1.8},
	{[]float64{1, 2, 3, 4, 5, 6}, 0.2, 2},
	{[]float64{15, 20, 35, 40, 50}, 0.4, 29},
	{[]float64{15, 20, 35, 40, 50}, 0.05, 16},
	{[]float64{3, 6, 7, 8, 8, 10, 13, 15, 16, 20}, 0.25, 7.25},
	{[]float64{3, 6, 7, 8, 8, 10, 13, 15, 16, 20}, 0.5, 9},
	{[]float64{3, 6, 7, 8, 8, 10, 13, 15, 16, 20}, 0.75, 14.5},
	{[]float64{3, 6, 7, 8, 8, 10, 13, 15, 16, 20}, 0, 3},
	{[]float64{3, 6, 7, 8, 8, 10, 13, 15, 16, 20}, 1, 20},
	{[]float64{5, 5, 5, 5}, 0.37, 5},
	{[]float64{-4, -2, 0}, 0.25, -3},
	{[]float64{1, math.Inf(1), math.Inf(1)}, 0.75, math.Inf(1)},
}

func TestQuantileKnown(t *testing.T) {
	for _, k := range known {
		if got := Sorted(k.x, k.q); math.Abs(got-k.want) > 1e-12 && got != k.want {
			t.Errorf("Sorted(%v, %g) = %v, want %v", k.x, k.q, got, k.want)
		}
		x := slices.Clone(k.x)
		slices.Reverse(x)
		if got := Quantile(x, k.q); math.Abs(got-k.want) > 1e-12 && got != k.want {
			t.Errorf("Quantile(%v, %g) = %v, want %v", k.x, k.q, got, k.want)
		}
	}
	if got := Median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("Median = %v", got)
	}
}

func TestQuantileNaN(t *testing.T) {
	nan := math.NaN()
	for _, k := range []struct {
		x []float64
		q float64
	}{{nil, 0.5}, {[]float64{1}, -0.1}, {[]float64{1}, 1.1}, {[]float64{1, 2}, nan}, {[]float64{nan, 1, 2}, 0.9}, {[]float64{nan}, 0}} {
		if got := Sorted(k.x, k.q); !math.IsNaN(got) {
			t.Errorf("Sorted(%v, %g) = %v, want NaN", k.x, k.q, got)
		}
		if got := Quantile(k.x, k.q); !math.IsNaN(got) {
			t.Errorf("Quantile(%v, %g) = %v, want NaN", k.x, k.q, got)
		}
	}
	if got := Quantile([]float64{3, nan, 1}, 0.5); !math.IsNaN(got) {
		t.Errorf("Quantile with a NaN inside = %v", got)
	}
}

// Values of R's quantile(x, q, type = 8), by its definition; and where R clamps, no value.
func TestSortedUnbiased(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, k := range []struct {
		n       int
		q, want float64
	}{{10, 0.5, 5.5}, {10, 0.1, 10.0/30 + 31.0/30}, {4, 0.25, 1.0/3 + 13.0/12}, {1, 0.5, 1}, {10, 0.95, math.NaN()}, {6, 0.1, math.NaN()}, {0, 0.5, math.NaN()}} {
		got, ok := SortedUnbiased(x[:k.n], k.q)
		if ok == math.IsNaN(k.want) || ok && math.Abs(got-k.want) > 1e-12 {
			t.Errorf("%v of 1..%d = %v, %v; want %v", k.q, k.n, got, ok, k.want)
		}
	}
}

// TestUnbiasedIsUnbiased: of 15 uniform numbers the tenth percentile is below 0.1 in half
// of all samples; type 7 is above it in two of three.
func TestUnbiasedIsUnbiased(t *testing.T) {
	r := NewRand(8, 8)
	const reps = 4000
	var eight, seven int
	for range reps {
		x := make([]float64, 15)
		for i := range x {
			x[i] = r.Float64()
		}
		slices.Sort(x)
		if v, _ := SortedUnbiased(x, 0.1); v < 0.1 {
			eight++
		}
		if Sorted(x, 0.1) < 0.1 {
			seven++
		}
	}
	if math.Abs(float64(eight)/reps-0.5) > 0.03 || float64(seven)/reps > 0.38 {
		t.Errorf("below: type 8 %d, type 7 %d of %d", eight, seven, reps)
	}
}

// exact is definition 7 in rational numbers.
func exact(x []float64, q float64) *big.Rat {
	rat := func(f float64) *big.Rat { return new(big.Rat).SetFloat64(f) }
	s := slices.Clone(x)
	slices.Sort(s)
	h := new(big.Rat).Mul(rat(q), rat(float64(len(s)-1)))
	i := int(new(big.Int).Quo(h.Num(), h.Denom()).Int64())
	if i == len(s)-1 {
		return rat(s[i])
	}
	t := h.Sub(h, rat(float64(i)))
	return t.Add(t.Mul(t, new(big.Rat).Sub(rat(s[i+1]), rat(s[i]))), rat(s[i]))
}

func TestQuantileAgainstRationals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), 1, 200).Draw(rt, "x")
		if rapid.Bool().Draw(rt, "ties") {
			for i := range x {
				x[i] = math.Round(x[i] / 2e8)
			}
		}
		q := rapid.Float64Range(0, 1).Draw(rt, "q")
		want, _ := exact(x, q).Float64()
		s := slices.Clone(x)
		slices.Sort(s)
		a, b := Sorted(s, q), Quantile(slices.Clone(x), q)
		if a != b {
			rt.Fatalf("Sorted %v, Quantile %v", a, b)
		}
		// The position q(n-1) is rounded once: its error times the gap bounds the result's.
		if gap := s[len(s)-1] - s[0]; math.Abs(a-want) > 1e-13*gap+1e-15*math.Abs(want) {
			rt.Fatalf("got %v, exactly %v", a, want)
		}
	})
}

func TestQuantileAllocatesNothing(t *testing.T) {
	x := randoms(1000)
	if n := testing.AllocsPerRun(10, func() { Quantile(x, 0.2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func randoms(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.Float64()
	}
	return x
}

func BenchmarkQuantile(b *testing.B) {
	x := randoms(100_000)
	y := make([]float64, len(x))
	for b.Loop() {
		copy(y, x)
		Quantile(y, 0.2)
	}
}
