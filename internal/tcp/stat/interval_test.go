package stat

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// TestMiddle by hand: of 1, 1, 4, 4, 4, 4, 8, 8 an eighth is half of what 1 weighs.
func TestMiddle(t *testing.T) {
	m := middle([]float64{8, 1, 4, 4, 1, 4, 4, 8})
	if !slices.Equal(m.values, []float64{1, 4, 8}) || !slices.Equal(m.shares, []float64{0.125, 0.5, 0.875}) {
		t.Fatalf("%v", m)
	}
	for _, k := range [][2]float64{{0, 1}, {0.125, 1}, {0.3125, 2.5}, {0.5, 4}, {0.6875, 6}, {0.99, 8}} {
		if got := m.quantile(k[0]); math.Abs(got-k[1]) > 1e-12 {
			t.Errorf("quantile %v = %v, want %v", k[0], got, k[1])
		}
		if back := m.below(k[1]); math.Abs(back-min(max(k[0], 0.125), 0.875)) > 1e-12 {
			t.Errorf("below %v = %v", k[1], back)
		}
	}
}

func TestMedianIntervalOfFew(t *testing.T) {
	for _, k := range []struct {
		x    []float64
		want Interval
	}{
		{[]float64{7}, Interval{7, 7, 7}},
		{[]float64{9, 1}, Interval{5, 1, 9}},
		{[]float64{5, 1, 9, 2, 3}, Interval{3, 1, 9}},
		{[]float64{4, 4, 4, 4, 4, 4, 4}, Interval{4, 4, 4}},
	} {
		if got := MedianInterval(k.x); got != k.want {
			t.Errorf("%v: %v, want %v", k.x, got, k.want)
		}
	}
	if i := MedianInterval(nil); !math.IsNaN(i.Estimate) || !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
		t.Errorf("of nothing: %v", i)
	}
}

func TestHalfWidth(t *testing.T) {
	for _, k := range []struct {
		i    Interval
		want float64
	}{{Interval{100, 95, 106}, 0.055}, {Interval{5, 5, 5}, 0}, {Interval{0, -1, 1}, math.Inf(1)}, {Interval{0, 0, 0}, math.Inf(1)}} {
		if got := k.i.HalfWidth(); math.Abs(got-k.want) > 1e-12 && got != k.want {
			t.Errorf("%v: %v, want %v", k.i, got, k.want)
		}
	}
}

// atom is a value of the bootstrap's distribution with its probability.
type atom struct{ x, p float64 }

// everyMedian is the exact distribution of the median of a sample of n from s, sorted,
// with replacement: what infinitely many draws would give. The m smallest of a sample
// end at s[i] and the rest begins at s[j] with a probability that counts give; for an
// odd n the middle is one value (Efron, Annals of Statistics 7, 1979, section 3).
func everyMedian(s []float64) (list []atom) {
	n := len(s)
	if n%2 == 1 {
		m := n / 2
		atMost := func(i int) float64 { return tail(m+1, n, float64(i+1)/float64(n)) } // median <= s[i]
		before := 0.0
		for i := range s[:n-1] {
			list = append(list, atom{s[i], atMost(i) - before})
			before = atMost(i)
		}
		return append(list, atom{s[n-1], 1 - before})
	}
	m := n / 2
	power := func(i int) float64 { return math.Pow(float64(i)/float64(n), float64(m)) }
	choose, rest := 1.0, 1.0
	for i := range m {
		choose *= float64(n-i) / float64(i+1)
	}
	for i := range s {
		for j := i + 1; j < n; j++ {
			p := choose * (power(i+1) - power(i)) * (power(n-j) - power(n-j-1))
			list = append(list, atom{(s[i] + s[j]) / 2, p})
			rest -= p
		}
	}
	// both in the middle are the same value: P(m or fewer below it, m or fewer above)
	for i := range s {
		below, above := float64(i)/float64(n), float64(n-1-i)/float64(n)
		list = append(list, atom{s[i], trinomial(n, m, below, above)})
	}
	slices.SortFunc(list, func(a, b atom) int { return cmp.Compare(a.x, b.x) })
	return list
}

// trinomial is the probability that of n at most m-1 are below and at most m-1 above.
func trinomial(n, m int, below, above float64) (sum float64) {
	for b := range m {
		for a := range m {
			nf, _ := math.Lgamma(float64(n + 1))
			bf, _ := math.Lgamma(float64(b + 1))
			af, _ := math.Lgamma(float64(a + 1))
			rf, _ := math.Lgamma(float64(n - a - b + 1))
			sum += math.Exp(nf-bf-af-rf) * math.Pow(below, float64(b)) * math.Pow(above, float64(a)) * math.Pow(1-below-above, float64(n-a-b))
		}
	}
	return sum
}

// TestDrawsAgainstEveryMedian: the drawn medians have the exact distribution, within
// 4 standard errors of 2000 draws (4 x sqrt(p(1-p)/2000)), at each of its steps.
func TestDrawsAgainstEveryMedian(t *testing.T) {
	for _, n := range []int{6, 7, 12, 25} {
		s := lognormal(NewRand(uint64(n), 7), n)
		slices.Sort(s)
		r := NewRand(bootstrapSeed, 0)
		draws, drawn := make([]float64, resamples), make([]int, n)
		for i := range draws {
			draws[i] = r.median(s, drawn)
		}
		slices.Sort(draws)
		sum := 0.0
		for _, a := range everyMedian(s) {
			sum += a.p
			upTo, _ := slices.BinarySearch(draws, math.Nextafter(a.x, math.Inf(1)))
			if got := float64(upTo) / resamples; math.Abs(got-sum) > 4*math.Sqrt(max(sum*(1-sum), 1e-4)/resamples) {
				t.Errorf("n = %d: %.4f of the draws up to %.3f, exactly %.4f", n, got, a.x, sum)
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("n = %d: the oracle sums to %v", n, sum)
		}
	}
}

// lognormal draws n values whose median is 1, skewed as completion times are.
func lognormal(r *Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(gauss(r) / 2)
	}
	return x
}

func gauss(r *Rand) float64 { return NormalQuantile((float64(r.Uint32()) + 0.5) / (1 << 32)) }

// trials of a coverage test: enough to tell 95 % from 90 % in a second or two; with
// STAT_TRIALS=10000 from 94 %, in a minute.
func trials(t *testing.T) int {
	asked := os.Getenv("STAT_TRIALS")
	if asked == "" {
		return 400
	}
	n, err := strconv.Atoi(asked)
	if err != nil {
		t.Fatalf("STAT_TRIALS: %v", err)
	}
	return n
}

// covers checks the share of intervals that hold the truth against bounds for infinitely
// many trials, give or take 3 standard errors.
func covers(t *testing.T, name string, low, high float64, trial func(r *Rand) bool) {
	t.Helper()
	n := trials(t)
	held := 0
	for i := range n {
		if trial(NewRand(uint64(i), 99)) {
			held++
		}
	}
	got, give := float64(held)/float64(n), 3*math.Sqrt(0.95*0.05/float64(n))
	t.Logf("%s: covers %.1f %%", name, 100*got)
	if got < low-give || got > high+give {
		t.Errorf("%s: covers %.1f %% of %d, want %.1f to %.1f", name, 100*got, n, 100*low, 100*high)
	}
}

func (i Interval) holds(truth float64) bool { return i.Low <= truth && truth <= i.High }

// TestMedianCoverage: of values with known median. From few values no interval of
// order statistics can have exactly 95 %.
func TestMedianCoverage(t *testing.T) {
	for _, k := range []struct {
		name      string
		n         int
		low, high float64
		draw      func(r *Rand, n int) []float64
		truth     float64
	}{
		{"range of 5, skewed", 5, 0.9375, 0.9375, lognormal, 1},
		{"6, skewed", 6, 0.92, 0.98, lognormal, 1},
		{"7, skewed", 7, 0.92, 0.98, lognormal, 1},
		{"10, skewed", 10, 0.92, 0.98, lognormal, 1},
		{"40, skewed", 40, 0.92, 0.98, lognormal, 1},
		{"15, two modes", 15, 0.92, 0.98, twoModes, 0.9},
	} {
		covers(t, k.name, k.low, k.high, func(r *Rand) bool { return MedianInterval(k.draw(r, k.n)).holds(k.truth) })
	}
}

// twoModes are seven of ten near 0.9 and the rest near a third, as BBR at the edge of its
// policer detector; the median is the 5/7 quantile from above of the first: 0.9 by shift.
func twoModes(r *Rand, n int) []float64 {
	x := make([]float64, n)
	shift := 0.02 * NormalQuantile(1-0.5/0.7)
	for i := range x {
		if x[i] = 0.33 + 0.05*gauss(r); r.Float64() < 0.7 {
			x[i] = 0.9 + 0.02*gauss(r) - shift
		}
	}
	return x
}

// TestRatioCoverage: a ratio of 3, of independent samples, and of pairs whose common
// conditions vary by a factor.
func TestRatioCoverage(t *testing.T) {
	scaled := func(x []float64, by float64) []float64 {
		for i := range x {
			x[i] *= by
		}
		return x
	}
	covers(t, "ratio, 12 and 12", 0.93, 0.98, func(r *Rand) bool {
		return Ratio(scaled(lognormal(r, 12), 3), lognormal(r, 12)).holds(3)
	})
	covers(t, "ratio, 5 and 20", 0.88, 0.97, func(r *Rand) bool {
		return Ratio(scaled(lognormal(r, 5), 3), lognormal(r, 20)).holds(3)
	})
	covers(t, "pairs, 12", 0.92, 0.98, func(r *Rand) bool {
		x, base := make([]float64, 12), make([]float64, 12)
		for i := range x {
			common := math.Exp(gauss(r))
			x[i], base[i] = 3*common*math.Exp(gauss(r)/20), common
		}
		return PairedRatio(x, base).holds(3)
	})
}

// TestPairsAreNarrower: where conditions are common, pairs say more.
func TestPairsAreNarrower(t *testing.T) {
	r := NewRand(5, 5)
	x, base := make([]float64, 10), make([]float64, 10)
	for i := range x {
		common := math.Exp(gauss(r))
		x[i], base[i] = 3*common, common
	}
	paired, not := PairedRatio(x, base), Ratio(x, base)
	if math.Abs(paired.Estimate-3) > 1e-12 || paired.HalfWidth() > 1e-12 || not.HalfWidth() < 0.1 {
		t.Errorf("paired %v, unpaired %v", paired, not)
	}
}

// TestIntervalsAreRepeatable, and leave their data alone.
func TestIntervalsAreRepeatable(t *testing.T) {
	x, base := lognormal(NewRand(1, 2), 15), lognormal(NewRand(3, 4), 15)
	before := slices.Clone(x)
	if MedianInterval(x) != MedianInterval(x) || Ratio(x, base) != Ratio(x, base) || !slices.Equal(x, before) {
		t.Error("not the same twice, or the data were reordered")
	}
	slices.Reverse(before)
	if MedianInterval(x) != MedianInterval(before) {
		t.Error("depends on the order of the values")
	}
}

// TestRatioOfNothing: NaN, never a number.
func TestRatioOfNothing(t *testing.T) {
	for _, i := range []Interval{Ratio(nil, []float64{1}), Ratio([]float64{1}, nil), PairedRatio(nil, nil)} {
		if !math.IsNaN(i.Estimate) || !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
			t.Errorf("%v", i)
		}
	}
	if i := Ratio([]float64{6}, []float64{2}); i != (Interval{3, 3, 3}) {
		t.Errorf("one of each: %v", i)
	}
}

func TestJain(t *testing.T) {
	for _, k := range []struct {
		x    []float64
		want float64
	}{{nil, 1}, {[]float64{5}, 1}, {[]float64{2, 2, 2}, 1}, {[]float64{1, 0, 0, 0}, 0.25}, {[]float64{43.7, 3.6}, 0.58183}, {[]float64{0, 0}, 1}} {
		if got := Jain(k.x); math.Abs(got-k.want) > 1e-4 {
			t.Errorf("Jain(%v) = %v, want %v", k.x, got, k.want)
		}
	}
}

func BenchmarkMedianInterval(b *testing.B) {
	x := lognormal(NewRand(1, 1), 10)
	for b.Loop() {
		MedianInterval(x)
	}
}
