package window

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Which connections does a crowded row keep for its quantiles? Those with the smallest hash
// of (namespace, cookie, window): a uniform sample without replacement (bottom-k sampling,
// Cohen and Kaplan 2007) that needs no random numbers, is the same on every run and in any
// order of arrival, and can be thinned later as if the smaller cap had held from the start.

const (
	// rowCap: with 4,096 values the rank error of p5 has a standard deviation of
	// sqrt(0.05*0.95/4096) = 0.34 points, below that of the window itself; 112 kB.
	rowCap = 4096
	// totalCap, over all rows of a window: 14 MB, at most 28 before they are thinned. Above it,
	// every row's cap is halved: 524,288 large responses in one window are at least 52 GB, 1.4
	// Gbit/s of nothing but the smallest that count.
	totalCap = 1 << 19
	// minRowCap: below it a p5 is only the minimum. 200,000 full rows of it are 90 MB,
	// which takes 3.2 million large responses in one window.
	minRowCap = 16
)

// sample is what an eligible connection adds to its row, 28 bytes. A float32 holds a rate to
// 6e-8 of its value.
type sample struct {
	hash                uint32  // its last byte is the client's number
	rate, goodput, late float32 // the last two are 0 where they are not known
	minRttUs, srttUs    uint32
	times               uint32 // how many connections it stands for
}

func sampleOf(c *record.Conn, mask uint8) sample {
	s := sample{
		hash: stat.Hash(uint64(c.Netns), uint64(c.Cookie), uint64(c.Window))&^0xff | uint32(c.ClientNumber()&mask),
		rate: float32(c.RateBytesPerS), minRttUs: c.Info.MinRttUs, srttUs: c.Info.RttUs, times: uint32(c.Times()),
	}
	if c.RateSource == record.RateMean {
		s.goodput = float32(c.Goodput())
	}
	if hasLate(c) {
		s.late = float32(c.LateBytesPerS)
	}
	return s
}

func hasLate(c *record.Conn) bool {
	return c.WinLateSamples >= record.LateSamples && c.LateBytesPerS > 0
}

func (s sample) client() uint8 { return uint8(s.hash) }

// compareSamples orders by hash; equal hashes by value, so that the order of arrival still does not
// matter.
func compareSamples(a, b sample) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.rate, b.rate), cmp.Compare(a.goodput, b.goodput), cmp.Compare(a.late, b.late),
		cmp.Compare(a.minRttUs, b.minRttUs), cmp.Compare(a.srttUs, b.srttUs), cmp.Compare(a.times, b.times))
}

// sampler holds the caps over all rows of one window.
type sampler struct {
	rowCap, totalCap int
	total            int

	// Of the clients' sums, 64 bytes each, there are at most as many as samples: beyond, clients of
	// a network whose numbers agree in fewer and fewer bits count as one. That bounds them all the
	// more.
	mask    uint8
	clients int
}

// count takes in that there are more clients.
func (s *sampler) count(p *pane, more int) {
	for s.clients += more; s.clients > s.totalCap && s.mask > 0; {
		s.mask >>= 1
		for _, r := range p.rows {
			for ; r != nil; r = r.next {
				s.clients -= r.fold(s.mask)
			}
		}
	}
}

// add keeps c's values in r, a row of p, and thins all rows if there are too many.
func (s *sampler) add(p *pane, r *row, c *record.Conn) {
	r.samples = append(r.samples, sampleOf(c, s.mask))
	s.total++
	// Thinned at twice a cap: one sort for as many arrivals as it holds.
	if len(r.samples) >= 2*s.rowCap {
		s.total -= r.thin(s.rowCap)
	}
	if s.total >= 2*s.totalCap {
		s.settle(p)
	}
}

// settle thins every row to the cap, halved until all rows together fit. What it compares, the
// sum of min(cap, eligible) over rows, only grows while records come, so a window's final cap
// does not depend on their order.
func (s *sampler) settle(p *pane) {
	s.thinAll(p)
	for s.total > s.totalCap && s.rowCap > minRowCap {
		s.rowCap /= 2
		s.thinAll(p)
	}
}

func (s *sampler) thinAll(p *pane) {
	for _, r := range p.rows {
		for ; r != nil; r = r.next {
			s.total -= r.thin(s.rowCap)
		}
	}
}

// thin keeps the first n by hash, in memory of their size, and returns how many it removed.
func (r *row) thin(n int) int {
	over := len(r.samples) - n
	if over <= 0 {
		return 0
	}
	slices.SortFunc(r.samples, compareSamples)
	kept := make([]sample, n, 2*n)
	copy(kept, r.samples)
	r.samples = kept
	return over
}
