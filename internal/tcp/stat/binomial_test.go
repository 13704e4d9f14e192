package stat

import (
	"math"
	"testing"
)

// Values of R's binom.test(k, n, conf.level = ...)$conf.int, by the relation that
// defines them: at the ends, the tail that is cut off has exactly half of the rest.
func TestShareKnown(t *testing.T) {
	for _, k := range []struct {
		k, n, level, low, high float64
	}{
		{0, 10, 0.95, 0, 1 - math.Pow(0.025, 0.1)},
		{10, 10, 0.95, math.Pow(0.025, 0.1), 1},
		{1, 1, 0.99, 0.005, 1},
		{5, 10, 0.95, 0.1870860, 0.8129140},
		{1, 10, 0.95, 0.002528579, 0.445016117},
		{0, 0, 0.99, 0, 1},
	} {
		low, high := Share(k.k, k.n, k.level)
		if math.Abs(low-k.low) > 1e-7 || math.Abs(high-k.high) > 1e-7 {
			t.Errorf("%v of %v at %v: %.9f to %.9f, want %.9f to %.9f", k.k, k.n, k.level, low, high, k.low, k.high)
		}
	}
}

// tail is P(X >= k) of the binomial distribution, term by term.
func tail(k, n int, p float64) (sum float64) {
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// TestShareAgainstSums: at the lower end "k or more" has half of what is left out, at
// the upper end "k or fewer".
func TestShareAgainstSums(t *testing.T) {
	for _, n := range []int{7, 200, 20_000} {
		for _, k := range []int{1, 2, n / 100, n / 6, n / 2, n - 1} {
			if k == 0 {
				continue
			}
			for _, level := range []float64{0.95, 0.99, 0.99998} {
				low, high := Share(float64(k), float64(n), level)
				half := (1 - level) / 2
				if got := tail(k, n, low); math.Abs(got/half-1) > 1e-6 {
					t.Errorf("%d of %d at %v: P(%d or more | %v) = %v, want %v", k, n, level, k, low, got, half)
				}
				if got := 1 - tail(k+1, n, high); math.Abs(got-half) > 1e-9 {
					t.Errorf("%d of %d at %v: P(%d or fewer | %v) = %v, want %v", k, n, level, k, high, got, half)
				}
			}
		}
	}
}

// TestShareCovers: an exact interval holds the truth at least as often as it says,
// and Wilson's, which is why it is not used, does not at few events.
func TestShareCovers(t *testing.T) {
	wilson := func(k, n, z float64) (low, high float64) {
		p := k / n
		mid, half := p+z*z/2/n, z*math.Sqrt(p*(1-p)/n+z*z/4/n/n)
		return (mid - half) / (1 + z*z/n), (mid + half) / (1 + z*z/n)
	}
	worst := 1.0
	for _, p := range []float64{0.0005, 0.001, 0.002, 0.01} {
		const n = 1000
		exactly, wilsons := 0.0, 0.0
		for k := range 60 {
			weight := tail(k, n, p) - tail(k+1, n, p)
			if low, high := Share(float64(k), n, 0.99); low <= p && p <= high {
				exactly += weight
			}
			if low, high := wilson(float64(k), n, NormalQuantile(0.995)); low <= p && p <= high {
				wilsons += weight
			}
		}
		if exactly < 0.99 {
			t.Errorf("p = %v: covers %.4f", p, exactly)
		}
		worst = min(worst, wilsons)
	}
	if worst > 0.99 {
		t.Errorf("Wilson's interval covers %.4f at worst: the comment is wrong", worst)
	}
	t.Logf("Wilson at worst %.4f", worst)
}

// TestShareOfMillions: no loss of digits and no long run at a lab's largest counts.
func TestShareOfMillions(t *testing.T) {
	const n, p = 1e8, 0.01
	low, high := Share(n*p, n, 0.99)
	half := NormalQuantile(0.995) * math.Sqrt(p*(1-p)/n)
	if math.Abs((p-low)/half-1) > 0.01 || math.Abs((high-p)/half-1) > 0.01 {
		t.Errorf("%v to %v, want about %v +- %v", low, high, p, half)
	}
}
