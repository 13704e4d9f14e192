package effect

import (
	"math"
	"slices"
	"testing"
)

func block(n int, mean float64) Block { return Block{N: n, MeanLog: mean} }

func pairOf(control Block, treated ...Block) Pair { return Pair{T: treated, C: control} }

func seven(n int, mean float64) []Block { return slices.Repeat([]Block{block(n, mean)}, 7) }

// TestJudgeByHand: two pairs of variance 1/2 with differences 1 and 2: S = 6, I = 4,
// and with t = 1/2 the growth 1 + t^2 I is 2.
func TestJudgeByHand(t *testing.T) {
	n := Noise{Block: 0.5}
	pairs := []Pair{pairOf(block(1, 2), block(1, 3)), pairOf(block(1, 2), block(1, 4)), pairOf(block(1, 99))}
	got := Judge(pairs, n)
	r := math.Sqrt(2*(math.Log(2)+2*math.Log(20))) / 2
	z := 3 / math.Sqrt(2)
	want := Evidence{Pairs: 2, LogRatio: 1.5, Var: 0.25, Low: 1.5 - r, High: 1.5 + r,
		LogEHarm: math.Log(2*math.Pow(2, -0.5)*math.Exp(0.25*36/4)) + math.Log(0.5*math.Erfc(z/math.Sqrt2))}
	for _, k := range [][2]float64{{got.LogRatio, want.LogRatio}, {got.Var, want.Var}, {got.Low, want.Low}, {got.High, want.High},
		{got.LogEHarm, want.LogEHarm}, {float64(got.Pairs), 2}} {
		if math.Abs(k[0]-k[1]) > 1e-9 {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if one := Judge(pairs[:1], n); one.Pairs != 1 || !math.IsInf(one.Low, -1) || one.LogEHarm != 0 {
		t.Errorf("one pair alone says %+v", one)
	}
}

// someSums has S, I and Q of pairs with the differences d and variance v.
func someSums(freedom, v float64, d ...float64) *sums {
	s := &sums{freedom: freedom}
	for _, x := range d {
		s.add(pairOf(block(1, 0), block(1, x)), Noise{Block: math.Sqrt(v / 2)})
	}
	return s
}

// slowE integrates the two likelihoods over the effect and over the factor of the variance,
// point by point.
func slowE(freedom, v float64, d []float64) float64 {
	const steps = 400
	var above, below float64
	for i := range steps {
		f := math.Exp(-4 + 8*(float64(i)+0.5)/steps) // of ln f from -4 to 4
		prior := math.Pow(f, -freedom/2) * math.Exp(-freedom/(2*f))
		likelihood := func(effect float64) float64 {
			l := 1.0
			for _, x := range d {
				l *= math.Exp(-(x-effect)*(x-effect)/(2*v*f)) / math.Sqrt(f)
			}
			return l
		}
		below += prior * likelihood(0)
		for k := range steps {
			z := 8 * (float64(k) + 0.5) / steps
			above += prior * likelihood(z*mixture*math.Sqrt(f)) * 2 * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 8 / steps
		}
	}
	return math.Log(above / below)
}

func TestEvidenceAgainstIntegrals(t *testing.T) {
	for _, d := range [][]float64{{1, 0.5}, {1, 1.3, 0.8, 1.1}, {-0.4, 0.3, -0.9}, {2, -1}} {
		for _, freedom := range []float64{8, 20} {
			fast, slow := someSums(freedom, 0.2, d...).logE(1), slowE(freedom, 0.2, d)
			if math.Abs(fast-slow) > 0.01 {
				t.Errorf("%v, freedom %v: %v, by integration %v", d, freedom, fast, slow)
			}
		}
		// Much freedom is a known variance.
		if known, nearly := someSums(0, 0.2, d...).logE(1), someSums(1e7, 0.2, d...).logE(1); math.Abs(known-nearly) > 1e-4 {
			t.Errorf("%v: known %v, nearly %v", d, known, nearly)
		}
	}
}

// TestBoundsAgainstEvidence: at the bounds the evidence of both sides together is 20.
func TestBoundsAgainstEvidence(t *testing.T) {
	for _, freedom := range []float64{0, 8, 20} {
		d := []float64{1, 1.3, 0.8, 1.1, 0.2}
		s := someSums(freedom, 0.2, d...)
		at := s.s/s.i - s.radius(Alpha)
		for i := range d {
			d[i] -= at
		}
		moved := someSums(freedom, 0.2, d...)
		if both := (math.Exp(moved.logE(1)) + math.Exp(moved.logE(-1))) / 2; math.Abs(both-1/Alpha) > 1e-6 {
			t.Errorf("freedom %v: evidence %v at the lower bound, want 20", freedom, both)
		}
	}
}

// TestEvidenceHasNoHoles: the largest effects give numbers, of the right sign.
func TestEvidenceHasNoHoles(t *testing.T) {
	for _, freedom := range []float64{0, 20} {
		for _, effect := range []float64{1e-6, 1, 30, 500} {
			s := someSums(freedom, 0.01, effect, effect, effect)
			if up, down := s.logE(1), s.logE(-1); !(up >= down && up < 1e9 && down >= leastLogE) {
				t.Errorf("freedom %v, effect %v: %v and %v", freedom, effect, up, down)
			}
		}
	}
}
