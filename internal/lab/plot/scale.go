package plot

import (
	"math"
	"strconv"
	"strings"
)

// Scale takes values to 0..1 of an axis. Lo may be above Hi: then it runs downwards.
type Scale struct {
	Lo, Hi float64
	Log    bool
}

// logFrom is the range, highest by lowest, from which an axis is logarithmic: with
// more, the lower half of the values is squeezed into the first 3 % of the axis.
const logFrom = 30

// least is the smallest lower end of a logarithmic axis: below, its inverse overflows.
const least = 1e-300

// Fit returns an axis for values that holds them all and ends at a round one: from zero,
// or logarithmic where all are positive and spread over more than a factor of 30.
func Fit(values ...float64) Scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	switch {
	case lo > hi || lo == 0 && hi == 0:
		return Scale{0, 1, false}
	case lo >= least && hi/lo > logFrom:
		return Scale{1 / linearStep(1/lo, 1), linearStep(hi, 1), true} // a round number's inverse is round
	}
	lo, hi = min(lo, 0), max(hi, 0)
	step := linearStep(hi-lo, 6)
	return Scale{math.Floor(lo/step) * step, math.Ceil(hi/step) * step, false}
}

// At returns the place of v, within 0 and 1: values outside are drawn at the edge.
func (s Scale) At(v float64) float64 {
	lo, hi := s.Lo, s.Hi
	if s.Log {
		if v <= 0 {
			return 0
		}
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(v)
	}
	if lo == hi {
		return 0
	}
	return max(0, min(1, (v-lo)/(hi-lo)))
}

// Tick is a labelled place of an axis.
type Tick struct {
	At    float64
	Label string
}

// Ticks are about n round places: multiples of 1, 2 or 5 times a power of ten; of a
// logarithmic axis the powers of ten, with 2 and 5 of each where there are few.
func (s Scale) Ticks(n int) []Tick {
	if s.Log {
		return s.logTicks(n)
	}
	if out := s.linearTicks(n); len(out) > 1 {
		return out
	}
	return s.linearTicks(2 * n) // one tick alone is no scale; a step has at least 2/5 of n
}

func (s Scale) linearTicks(n int) []Tick {
	step := linearStep(s.Hi-s.Lo, n)
	decimals := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	var out []Tick
	for i := math.Ceil(s.Lo/step - 1e-9); i*step <= s.Hi+step*1e-9; i++ {
		if v := i * step; v == 0 {
			out = append(out, Tick{0, "0"})
		} else {
			out = append(out, Tick{v, thousands(strconv.FormatFloat(v, 'f', decimals, 64))})
		}
	}
	return out
}

func (s Scale) logTicks(n int) []Tick {
	first, last := int(math.Floor(math.Log10(s.Lo)+1e-9)), int(math.Ceil(math.Log10(s.Hi)-1e-9))
	if last-first > n/2 {
		for _, every := range []int{1 + (last-first)/(n+1), 1} {
			if out := s.logTicksAt(first, last, every, 1); len(out) > 1 {
				return out
			}
		}
	}
	return s.logTicksAt(first, last, 1, 1, 2, 5)
}

// logTicksAt are multiples of each power of ten, or of each second or third, that are on the axis.
func (s Scale) logTicksAt(first, last, every int, digits ...float64) (out []Tick) {
	for e := first; e <= last; e += every {
		for _, d := range digits {
			v := d * math.Pow10(e)
			if v >= s.Lo*(1-1e-9) && v <= s.Hi*(1+1e-9) {
				out = append(out, Tick{v, thousands(strconv.FormatFloat(v, 'f', max(0, -e), 64))})
			}
		}
	}
	return out
}

// linearStep is the smallest of 1, 2, 5 times a power of ten of which at most n fit.
func linearStep(width float64, n int) float64 {
	raw := math.Abs(width) / float64(n)
	if raw == 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, d := range []float64{1, 2, 5} {
		if d*power >= raw*(1-1e-9) {
			return d * power
		}
	}
	return 10 * power
}

// thousands puts a comma before each third digit of five or more.
func thousands(s string) string {
	whole, rest, dot := strings.Cut(s, ".")
	if digits := len(strings.TrimPrefix(whole, "-")); digits >= 5 {
		first := len(whole) - digits
		for i := len(whole) - 3; i > first; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
	}
	if dot {
		return whole + "." + rest
	}
	return whole
}
