package window

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// The rates of all connections of a window, from its rows. A row has five quantiles of its own
// connections; each stands for those around it:
//
//	0.05   0.10   0.20        0.50          0.80
//	 |-.075-|-.075-|---.20-----|-----.30-----|----.35---
//
// The mixture of all rows, each by its connections, is counted in bins of ln(rate), so that its
// quantiles are within a bin's width of those of the points.

// binsPerE makes a bin 2 % wide: a chart does not show less.
const binsPerE = 50

// shares of a row's connections that the quantiles stand for: to the middle between two.
var shares = func() (s [len(record.RateQuantiles)]float64) {
	low := 0.0
	for i, q := range record.RateQuantiles {
		high := 1.0
		if i+1 < len(record.RateQuantiles) {
			high = (q + record.RateQuantiles[i+1]) / 2
		}
		s[i], low = high-low, high
	}
	return s
}()

// Mix is such a mixture; the zero value has no connection.
type Mix struct {
	Conns uint64 // that have a rate
	bins  map[int]float64
}

// Add takes in a row.
func (m *Mix) Add(w *record.Window) {
	if w.Eligible == 0 {
		return
	}
	if m.bins == nil {
		m.bins = map[int]float64{}
	}
	m.Conns += uint64(w.Eligible)
	for i, rate := range w.RateBytesPerS {
		if rate > 0 {
			m.bins[int(math.Floor(binsPerE*math.Log(rate)))] += shares[i] * float64(w.Eligible)
		}
	}
}

// Quantile returns the rate that a share of the connections does not exceed, bytes/s; 0 without any.
func (m *Mix) Quantile(q float64) float64 {
	total, lowest, highest := 0.0, math.MaxInt, math.MinInt
	for bin, n := range m.bins {
		total += n
		lowest, highest = min(lowest, bin), max(highest, bin)
	}
	sum := 0.0
	for bin := lowest; bin <= highest; bin++ {
		if sum += m.bins[bin]; sum >= q*total {
			return math.Exp((float64(bin) + 0.5) / binsPerE)
		}
	}
	return 0
}
