package policy

import (
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// city makes windows of a small PoP. Each row follows from seed, window and
// prefix alone, and from whether the prefix is treated: two runs of one city
// differ only where the plan differs.
type city struct {
	seed     uint64
	prefixes int
}

func (c city) prefix(i int) record.Prefix {
	if i%4 == 3 {
		p, _ := record.PrefixOf(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, byte(i), 1}))
		return p
	}
	p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{198, 18, byte(i), 0}))
	return p
}

const cityBlock, cityGroup = 6, 8 // windows in a block, blocks in a group

// rows returns window number w. treated reports whether a prefix is in the plan.
func (c city) rows(w int, start int64, treated map[record.Prefix]bool) (rows []record.Window) {
	for i := range c.prefixes {
		rng := rand.New(rand.NewPCG(c.seed, uint64(w)<<20|uint64(i)))
		base := c.row(i, w, start, rng)
		switch p := base.Prefix; {
		case base.Conns == 0:
			continue
		case !treated[p]:
		case w/cityBlock%cityGroup != i%cityGroup:
			base.Arm, base.Control, base.Cong = record.ArmTreatment, false, "bbr"
			for q := range base.RateBytesPerS {
				base.RateBytesPerS[q] *= 4
			}
		default:
			base.Arm = record.ArmControl
		}
		rows = append(rows, base)
		if rng.IntN(8) == 0 { // a second namespace with another default, or a connection switched earlier
			other := base
			other.Cong, other.Carryover = "reno", rng.IntN(2) == 0
			other.Control = base.Control && !other.Carryover
			other.Eligible, other.Conns = uint32(rng.IntN(4)), 4
			other.Bytes += 100_000 * uint64(other.Eligible) // each has at least as many
			rows = append(rows, other)
		}
	}
	rng := rand.New(rand.NewPCG(c.seed, 1<<40|uint64(w)))
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// row is prefix i's under the default congestion control. Rates are multiples of
// 10 kB/s so that ties happen; guard values are such that no mean of them falls on
// a limit.
func (c city) row(i, w int, start int64, rng *rand.Rand) record.Window {
	kind := (i + int(c.seed%7)) % 7
	n := uint32(5 + rng.IntN(4))
	rate := 10_000 * float64(20+i+rng.IntN(15))
	switch kind {
	case 0: // slow
		rate = 10_000 * float64(1+rng.IntN(8))
	case 1: // slow and rare
		rate, n = 10_000*float64(1+rng.IntN(8)), uint32(rng.IntN(4))
	case 2: // rare
		n = uint32(rng.IntN(3))
	case 3: // in and out
		if w/(1+i%9)%2 == 0 {
			rate = 20_000
		}
	case 4: // bad for good from some time on
		if w > 20+i {
			rate = 30_000
		}
	}
	r := quiet(start, c.prefix(i), n, rate)
	r.Conns = n + uint32(rng.IntN(6))
	if rng.IntN(60) == 0 {
		r.Conns, r.Eligible = 200, 0
	}
	trouble := i % 11
	if rng.IntN(4) > 0 { // mostly
		trouble = -1
	}
	switch trouble {
	case 0:
		r.RwndShare = 0.4111
	case 1:
		r.BusyShare = 0.3111
	case 2:
		r.MinRTTUs, r.RetransShare = 2000.37, 0.00003
	case 3:
		r.MinRTTUs = 700.13
	case 4:
		r.RateBytesPerS[record.Q20], r.RateBytesPerS[record.Q80] = rate*0.99, rate*1.01
		r.RetransShare, r.SRTTUs = 0.21, 4_000_000
	}
	return r
}

// cityRules are small enough that a short history turns over many times.
func cityRules() Rules {
	r := DefaultRules().ByLevel()
	r.LookbackSeconds, r.MaxAgeSeconds = 4*300, 40*300
	r.MinRanked, r.MinKnown, r.HistoryWindows = 5, 4, 10
	r.SelectDuty, r.SelectFlap = 0.6, 0.4
	r.MaxNewPerRound, r.MaxSelected = 2, 6
	r.Guards.MinSharePrefixes = 5
	r.Guards.Never = []Listed{{Net: netip.MustParsePrefix("198.18.14.64/26")}, {netip.MustParsePrefix("2001:db8:7::/48"), "transit"}}
	r.Guards.Allow = []netip.Prefix{netip.MustParsePrefix("198.18.0.0/21")}
	return r
}

// always lists some prefixes of the city, and one that is never seen.
func (c city) always(numbers ...int) (list []Listed) {
	for _, i := range append(numbers, 200) {
		if l := (Listed{c.prefix(i).Netip(), "satellite"}); !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return list
}

// input is window w with what may befall a host.
func (c city) input(w int, troubled bool, selected []Selected) Input {
	start := int64(noon + w*300)
	treated := map[record.Prefix]bool{}
	for _, s := range selected {
		treated[s.Prefix] = true
	}
	in := Input{Start: start, RoundStart: start + 300, Rows: c.rows(w, start, treated)}
	rng := rand.New(rand.NewPCG(c.seed, 1<<50|uint64(w)))
	if !troubled {
		return in
	}
	switch rng.IntN(40) {
	case 0:
		in.Unknown = "clock"
	case 1, 2:
		in.Starved = "steal"
	case 3, 4:
		in.Frozen = true
	case 5:
		in.TreatmentIsDefault = w%3 == 0
	case 6:
		in.Rows = nil
	}
	return in
}

// skips reports whether no round runs for window w.
func (c city) skips(w int) bool {
	rng := rand.New(rand.NewPCG(c.seed, 1<<51|uint64(w)))
	return rng.IntN(30) == 0 || c.seed%5 == 0 && w >= 60 && w < 60+30
}
