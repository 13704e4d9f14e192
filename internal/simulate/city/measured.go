package city

// measured are effects of a switch to BBR at a response's 100th kilobyte, over CUBIC's goodput, of
// paths run in the lab on Linux 6.1 on 22 November 2026 (rates of 1 to 100 Mbit/s, round trips of 2 to
// 220 ms, losses of 0 to 3 %), by what CUBIC's own counters show of the path:
//
//	single losses above 1 %, at rates that they limit   23 paths, median 2.6, 1.0 to 7.8
//	mixed single losses and bursts                      14 paths, median 1.08, 1.0 to 3.9
//	bursts without a queue: policers, shallow buffers   26 paths, median 1.0, 0.96 to 1.03
//	losses of a full queue                              21 paths, median 1.0, 0.97 to 1.25
//	no losses, queue; no losses, no queue               31 paths, median 1.0, 1.0 to 1.18
//
// The shares of kinds stay those of the city: the lab's paths are a grid, not a sample of clients.
// No path lost more than 4 %, so here hardly any network is harmed.
var measured = map[string][]float64{
	"fibre":             queued,
	"low RTT":           queued,
	"long RTT":          unqueued,
	"slow clean access": overflowing,
	"deep buffer":       queued,
	"random loss":       singleLosses,
	"shallow buffer":    mixedLosses,
	"policer":           bursts,
	"BBR-hostile":       bursts,
	"LTE":               overflowing,
}

var (
	singleLosses = []float64{1, 1.04, 1.07, 1.23, 1.28, 1.41, 1.45, 1.45, 1.88, 2.11, 2.37, 2.56, 2.65, 2.65, 2.73, 2.82, 2.88, 3.31, 4.38, 4.47, 6.01, 7.15, 7.82}
	mixedLosses  = []float64{1, 1, 1, 1, 1, 1.03, 1.04, 1.12, 1.22, 1.31, 1.81, 1.87, 2.45, 3.88}
	bursts       = []float64{0.96, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.01, 1.01, 1.02, 1.02, 1.03, 1.03}
	overflowing  = []float64{0.97, 0.99, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.04, 1.04, 1.08, 1.09, 1.25}
	queued       = []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.02, 1.04}
	unqueued     = []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.01, 1.18}
)
