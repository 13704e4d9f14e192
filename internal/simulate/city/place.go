package city

import (
	"math"
	"net/netip"

	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/core/stat"
)

// Place is one prefix and the truth about its path.
type Place struct {
	Prefix    record.Prefix
	Kind      *Kind
	BytesPerS float64 // median of its connections under CUBIC, without drift and at no load
	Factor    float64 // BBR's rate over CUBIC's
	Conns     float64 // eligible connections in a window, mean over the day
	InFifth   bool    // BytesPerS is among the lowest fifth of all prefixes, type 7
}

// helps: an effect that a trial of some hours can see.
const helps = 1.5

// Helped: a prefix that the policy is there for.
func (p *Place) Helped() bool { return p.Factor > helps && p.InFifth }

// Harmed: BBR is slower there.
func (p *Place) Harmed() bool { return p.Factor < 1 }

const (
	// Eligible connections of a window over prefixes: log-normal, and cut. Mean 7.4; 37 %
	// of the prefix-windows have 5.
	medianConns = 3
	spreadConns = 1.4 // standard deviation of ln
	maxConns    = 80
)

// places settles the city: as many prefixes of each kind as its share says, in random
// order. What a kind's prefixes have is drawn from even slices of the distribution, so
// that seeds differ in who has it and hardly in the mix: with free draws a dozen busy
// prefixes decide what a city of 2,000 can gain.
func places(seed uint64, n int) []Place {
	list := make([]Place, n)
	r := newDraws(seed, placesStream)
	order := r.order(n)
	for i := range Kinds {
		k := &Kinds[i]
		m := until(i+1, n) - until(i, n)
		levels, conns, factors := r.slices(m), r.slices(m), r.slices(m)
		for j := range m {
			at := order[until(i, n)+j]
			list[at] = Place{Prefix: prefixAt(at), Kind: k,
				BytesPerS: k.MedianMbit * 1e6 / 8 * math.Exp(k.Spread*normalQuantile(levels[j])),
				Factor:    k.Low + (k.High-k.Low)*factors[j],
				Conns:     min(medianConns*math.Exp(spreadConns*normalQuantile(conns[j])), maxConns)}
		}
	}
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

// until is how many of n prefixes are of the first so many kinds.
func until(kinds, n int) int {
	share := 0.0
	for _, k := range Kinds[:kinds] {
		share += k.Share
	}
	return int(math.Round(share * float64(n)))
}

// prefixAt numbers networks that no client has: benchmark ones of IPv4 (RFC 2544) as
// far as they go, then documentation ones of IPv6 (RFC 3849).
func prefixAt(i int) record.Prefix {
	addr := netip.AddrFrom4([4]byte{198, byte(18 + i>>8), byte(i), 0})
	if i -= 512; i >= 0 {
		addr = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	p, _ := record.PrefixOf(addr)
	return p
}
