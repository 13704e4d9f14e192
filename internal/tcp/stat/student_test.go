package stat

import (
	"math"
	"testing"
)

// Table values of Student's t (two-sided 95 % and 99 %), and the Cauchy distribution,
// which is t with one degree.
func TestStudentKnown(t *testing.T) {
	for _, k := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.7062}, {0.975, 2, 4.30265}, {0.975, 4, 2.77645}, {0.975, 8, 2.30600}, {0.975, 30, 2.04227},
		{0.995, 5, 4.03214}, {0.025, 8, -2.30600}, {0.975, 1e6, 1.95997}, {0.5, 7, 0},
	} {
		if got := StudentQuantile(k.p, k.df); math.Abs(got-k.want) > 1e-5*max(1, math.Abs(k.want)) {
			t.Errorf("quantile %v of t(%v) = %v, want %v", k.p, k.df, got, k.want)
		}
		if got := Student(k.want, k.df); math.Abs(got-k.p) > 1e-6 {
			t.Errorf("P(t(%v) <= %v) = %v, want %v", k.df, k.want, got, k.p)
		}
	}
	for _, x := range []float64{-1e6, -30, -1, 0, 0.3, 12} {
		if got, want := Student(x, 1), math.Atan2(1, -x)/math.Pi; math.Abs(got/want-1) > 1e-9 {
			t.Errorf("Cauchy at %v: %v, want %v", x, got, want)
		}
	}
}
