package comparison

import (
	"github.com/congctl/congctl/internal/tcp/record"
)

// A window row keeps five quantiles and the number of its connections. Pooled quantiles
// need values, so they are rebuilt: type-7 quantiles are points of a line through the
// sorted values,
//
//	Q(p) at p = i / (n-1) is the i-th value, linear in between
//
// which the five points restore exactly for up to three values and nearly for more. Beyond
// p5 and p80 the line continues straight; it cannot know a tail that bends, so pooled
// quantiles come out 1 to 3 % high. Both arms do alike: their ratio is right to 1.5 %.

// maxRebuilt is how many values a row yields: with more connections its quantiles are smooth.
const maxRebuilt = 64

// Rebuilt returns the delivery rates that a row stands for, bytes/s, ascending, each for
// weight connections.
func Rebuilt(w *record.Window) (values []float64, weight float64) {
	n := min(int(w.Eligible), maxRebuilt)
	if n == 0 || w.RateBytesPerS[record.Q05] <= 0 {
		return nil, 0
	}
	values = make([]float64, n)
	for i := range values {
		p := 0.5
		switch {
		case n == int(w.Eligible) && n > 1:
			p = float64(i) / float64(n-1)
		case n > 1: // fewer values than connections: the middle of each n-th part
			p = (float64(i) + 0.5) / float64(n)
		}
		values[i] = lineAt(w, p)
	}
	return values, float64(w.Eligible) / float64(n)
}

// lineAt returns the row's quantile function at p.
func lineAt(w *record.Window, p float64) float64 {
	q, v := record.RateQuantiles, w.RateBytesPerS
	i := 0
	for i < len(q)-2 && p > q[i+1] {
		i++
	}
	at := v[i] + (v[i+1]-v[i])*(p-q[i])/(q[i+1]-q[i])
	return max(at, v[0]/2) // a line that falls below zero is no rate
}
