package city

// Kind is a sort of path. Shares, medians and factors are assumptions about a broadband
// PoP's mix. Factor is what BBR makes of CUBIC's rate there: much where losses are
// random or buffers shallow, nothing where the access line is the limit, and harm on
// short, policed and crowded paths.
//
// The study that the rules came from gives ranges for Spread (0.3 to 0.5) and Swing (0 to
// 0.33) and not which kind has what. Of 22 choices this one came nearest to what it
// reports without any loop: how many can be helped, and what p10 gains with just those
// on BBR, with all, with those that gain. docs/verb/simulate.md has both beside each
// other, and in which order this was chosen and the loop was run.
type Kind struct {
	Name       string
	Share      float64 // of all prefixes
	MedianMbit float64 // under CUBIC, Mbit/s, of the median prefix
	Spread     float64 // standard deviation of ln(median) between prefixes
	Drift      float64 // the same of a prefix's level over time
	Swing      float64 // share of its level that the busiest hour takes
	Low, High  float64 // BBR's rate over CUBIC's: uniform between these
	MinRTTUs   float64
	Retrans    float64 // share of bytes retransmitted, in either arm
}

// Kinds of the imagined PoP. Round-trip times and losses serve the guards alone, and
// only `low RTT` is caught by one.
var Kinds = []Kind{
	{"fibre", 0.41, 40, 0.5, 0.25, 0, 1, 1, 15_000, 0.002},
	{"low RTT", 0.05, 60, 0.5, 0.25, 0, 0.8, 0.8, 2_000, 0.0005},
	{"long RTT", 0.08, 14, 0.5, 0.25, 0, 1.3, 1.3, 180_000, 0.003},
	{"slow clean access", 0.12, 5, 0.5, 0.25, 0, 1, 1, 30_000, 0.004},
	{"deep buffer", 0.08, 8, 0.5, 0.25, 0, 1, 1, 60_000, 0.003},
	{"random loss", 0.08, 4, 0.5, 0.25, 0.33, 3, 10, 60_000, 0.02},
	{"shallow buffer", 0.07, 10, 0.3, 0.25, 0.33, 2, 3, 40_000, 0.03},
	{"policer", 0.04, 8, 0.5, 0.25, 0, 0.93, 0.93, 35_000, 0.1},
	{"BBR-hostile", 0.03, 6, 0.5, 0.25, 0, 0.75, 0.75, 50_000, 0.02},
	{"LTE", 0.04, 9, 0.5, 0.6, 0, 1.1, 1.1, 70_000, 0.006},
}
