package city

import (
	"math"
	"net/netip"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Place is one prefix and the truth about its path.
type Place struct {
	Prefix    record.Prefix
	Kind      *Kind
	BytesPerS float64 // median of its connections under CUBIC, without drift and at no load
	Factor    float64 // BBR's rate over CUBIC's
	Drift     float64 // standard deviation of its level over time, ln
	Conns     float64 // eligible connections in a window, mean over the day
	Line      int     // networks of one line share a bottleneck, with Neighbours
	Video     float64 // share of connections that the application limits, with Video
	Second    float64 // share of connections on a second path, with Paths
	MinRTTUs  float64
	Queue     float64 // srtt over MinRTTUs, less 1
	Retrans   float64 // share of bytes retransmitted under CUBIC
	Resent    float64 // and what is added to it under treatment
	InFifth   bool    // BytesPerS is among the lowest fifth of all prefixes, type 7
}

// helps: an effect worth having.
const helps = 1.5

// Helped reports whether the policy should help the prefix.
func (p *Place) Helped() bool { return p.Factor >= helps && p.InFifth }

// Harmed reports whether BBR is slower there.
func (p *Place) Harmed() bool { return p.Factor < 1 }

const (
	// Eligible connections of a window over prefixes: log-normal, and cut. Mean 7.4; 37 %
	// of the prefix-windows have 5.
	medianConns = 3
	spreadConns = 1.4 // standard deviation of ln
	maxConns    = 80
)

// places lays out the city: as many prefixes of each kind as its share says, in random order. A
// kind's values are drawn from even slices of the distribution, so that seeds hardly differ in the
// mix: with free draws a dozen busy prefixes decide what a city of 2,000 can gain.
func places(seed uint64, n int, world World) []Place {
	list := make([]Place, n)
	r := newDraws(seed, placesStream)
	order := r.order(n)
	for i := range Kinds {
		k := &Kinds[i]
		m := until(i+1, n) - until(i, n)
		levels, conns, factors := r.slices(m), r.slices(m), r.slices(m)
		for j := range m {
			at := order[until(i, n)+j]
			list[at] = Place{Prefix: prefixAt(at), Kind: k, Drift: k.Drift, Line: until(i, n) + j/lineNets,
				MinRTTUs: k.MinRTTUs, Queue: k.Queue, Retrans: k.Retrans,
				BytesPerS: k.MedianMbit * 1e6 / 8 * math.Exp(k.Spread*normalQuantile(levels[j])),
				Factor:    k.Low + (k.High-k.Low)*factors[j],
				Conns:     min(medianConns*math.Exp(spreadConns*normalQuantile(conns[j])), maxConns)}
		}
	}
	world.change(seed, list)
	all := make([]float64, n)
	for i := range list {
		all[i] = list[i].BytesPerS
	}
	boundary := stat.Quantile(all, 0.2)
	for i := range list {
		list[i].InFifth = list[i].BytesPerS <= boundary
	}
	return list
}

// until returns how many of n prefixes are of the first so many kinds.
func until(kinds, n int) int {
	share := 0.0
	for _, k := range Kinds[:kinds] {
		share += k.Share
	}
	return int(math.Round(share * float64(n)))
}

// prefixAt numbers networks without real clients: benchmark ones of IPv4 (RFC 2544) as far as they
// go, then documentation ones of IPv6 (RFC 3849).
func prefixAt(i int) record.Prefix {
	addr := netip.AddrFrom4([4]byte{198, byte(18 + i>>8), byte(i), 0})
	if i -= 512; i >= 0 {
		addr = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	p, _ := record.PrefixOf(addr)
	return p
}

// Kind is a kind of path. Shares, medians and factors are assumptions about a broadband PoP's mix.
// Factor is BBR's rate divided by CUBIC's there: large where losses are random or buffers shallow, 1
// where the access line is the limit, and harm on short, policed and crowded paths.
//
// The study behind the rules has ranges for Spread (0.3 to 0.5) and Swing (0 to 0.33), but not per
// kind. Of 22 choices this one came nearest to what it reports without any loop: how many can be
// helped, and what p10 gains with just those on BBR, with all, with those that gain.
// docs/verb/simulate.md compares both, and says in which order this was chosen and the loop was run.
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
	Queue      float64 // srtt over MinRTTUs, less 1
}

// Kinds of the simulated PoP. Round-trip times, losses and queues serve the guards, of which one stops `low RTT`, and belief, which takes
// what loses without a queue for one class, whatever it gains.
var Kinds = []Kind{
	{"fibre", 0.41, 40, 0.5, 0.25, 0, 1, 1, 15_000, 0.002, 0.3},
	{"low RTT", 0.05, 60, 0.5, 0.25, 0, 0.8, 0.8, 2_000, 0.0005, 0.3},
	{"long RTT", 0.08, 14, 0.5, 0.25, 0, 1.3, 1.3, 180_000, 0.003, 0.3},
	{"slow clean access", 0.12, 5, 0.5, 0.25, 0, 1, 1, 30_000, 0.004, 0.3},
	{"deep buffer", 0.08, 8, 0.5, 0.25, 0, 1, 1, 60_000, 0.003, 0.3},
	{"random loss", 0.08, 4, 0.5, 0.25, 0.33, 3, 10, 60_000, 0.02, 0.05},
	{"shallow buffer", 0.07, 10, 0.3, 0.25, 0.33, 2, 3, 40_000, 0.03, 0.05},
	{"policer", 0.04, 8, 0.5, 0.25, 0, 0.93, 0.93, 35_000, 0.1, 0.05},
	{"BBR-hostile", 0.03, 6, 0.5, 0.25, 0, 0.75, 0.75, 50_000, 0.02, 0.05},
	{"LTE", 0.04, 9, 0.5, 0.6, 0, 1.1, 1.1, 70_000, 0.006, 0.3},
}
