package pop

import (
	"cmp"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/record"
)

// tally counts what each host sent of a window, before anything of it is believed.
type tally struct {
	maxNets  int // that are counted of one host
	minBytes uint64
	hosts    map[string]*sent
}

// maxRecords of a host that are looked at in a window: as many connections as an agent follows.
const maxRecords = 4_000_000

// sent is one host's. All counts are of connections, those that were thinned out too.
type sent struct {
	conns   uint64
	records int
	kinds   []kind // of congestion control: those that came first
	nets    map[record.Prefix]uint64
	below   uint64 // hash: networks with this one or more are not counted
	rates   histogram
}

func newTally(maxNets int, minBytes uint64) *tally {
	return &tally{maxNets: maxNets, minBytes: minBytes, hosts: map[string]*sent{}}
}

// kind is a name of a congestion control and the connections that have it.
type kind struct {
	cong  string
	conns uint64
}

// add reports whether the record may be in a row at all.
func (t *tally) add(host string, c *record.Conn) bool {
	if !counted(c) {
		return false
	}
	s := t.hosts[host]
	if s == nil {
		s = &sent{nets: map[record.Prefix]uint64{}, below: math.MaxUint64, rates: histogram{}}
		t.hosts[host] = s
	}
	n := c.Times()
	s.conns += n
	if s.records++; s.records > maxRecords || !s.knows(c.Cong, n) {
		return false
	}
	if c.Passive && c.WinBytesAcked >= t.minBytes && c.RateSource != record.RateNone {
		s.rates.add(c.RateBytesPerS, float64(n))
	}
	if _, known := s.nets[c.Prefix]; known || spread(c.Prefix) < s.below {
		s.nets[c.Prefix] += n
	}
	if len(s.nets) >= 2*t.maxNets {
		s.shrink(t.maxNets)
	}
	return true
}

// knows counts n connections of a kind, and reports whether it is one of the host's first.
func (s *sent) knows(cong string, n uint64) bool {
	for i := range s.kinds {
		if s.kinds[i].cong == cong {
			s.kinds[i].conns += n
			return true
		}
	}
	if len(s.kinds) == window.MaxCongs {
		return false
	}
	s.kinds = append(s.kinds, kind{cong, n})
	return true
}

// counted: others are in no row of a window, whatever they say.
func counted(c *record.Conn) bool { return c.ClientFacing && c.Prefix.Valid() }

// spread orders networks like a hash and has no two alike (splitmix64's last step is invertible).
func spread(p record.Prefix) uint64 {
	x := uint64(p)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// shrink keeps the n networks that are first by their hash: the same whatever the order in which they came.
func (s *sent) shrink(n int) {
	all := make([]uint64, 0, len(s.nets))
	for p := range s.nets {
		all = append(all, spread(p))
	}
	slices.Sort(all)
	s.below = all[n]
	for p := range s.nets {
		if spread(p) >= s.below {
			delete(s.nets, p)
		}
	}
}

// histogram counts rates in steps of 5 %: a median of it is off by 2.5 % at most, and takes no memory to speak of
// whatever a host sends.
type histogram map[int16]float64

const rateStep = 1.05

func (h histogram) add(bytesPerS, n float64) {
	if bytesPerS >= 1 && bytesPerS <= math.MaxFloat32 { // NaN is neither
		h[int16(math.Round(math.Log(bytesPerS)/math.Log(rateStep)))] += n
	}
}

// median is in bytes per second; 0 of nothing.
func (h histogram) median() float64 {
	var at []int16
	all := 0.0
	for k, n := range h {
		at, all = append(at, k), all+n
	}
	slices.Sort(at)
	sum := 0.0
	for _, k := range at {
		if sum += h[k]; sum >= all/2 {
			return math.Pow(rateStep, float64(k))
		}
	}
	return 0
}

// top finds the two largest of numbers.
type top struct{ first, second uint64 }

func (t *top) add(n uint64) {
	if n > t.first {
		t.first, t.second = n, t.first
	} else {
		t.second = max(t.second, n)
	}
}

// other is the largest of the others than one that is n.
func (t top) other(n uint64) uint64 {
	if n == t.first {
		return t.second
	}
	return t.first
}

// byCount orders networks, those with the most connections first.
func (s *sent) byCount(list []record.Prefix) {
	slices.SortFunc(list, func(a, b record.Prefix) int {
		return cmp.Or(cmp.Compare(s.nets[b], s.nets[a]), cmp.Compare(spread(a), spread(b)))
	})
}

// mostEach returns the most that each may have for all together to fit in room.
func mostEach(sizes []float64, room float64) float64 {
	slices.Sort(sizes)
	for i, n := range sizes {
		if each := room / float64(len(sizes)-i); n > each {
			return each
		}
		room -= n
	}
	return math.Inf(1)
}
