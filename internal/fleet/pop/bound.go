package pop

import (
	"cmp"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/record"
)

// How much of a PoP may one host decide? What it sends is its own word: an agent that was taken over can invent rates,
// weights and networks. It cannot change what the others send. So a host is measured by the largest of the others:
//
//	in each network       it counts for at most F x max(the largest other's connections there, minNet)
//	networks of its own   at most F x max(the largest other's, those that two hosts or more have / (hosts - 1))
//	in the window         it counts for at most F x the largest other's connections
//	kinds of congestion   eight of its own, and of all hosts' the eight that most hosts have: the name is a host's word, and
//	control               each makes a row
//
// Of H hosts of one size that is the share F / (H + F - 1): with 100 hosts 4 %, with 5 half. It asks for three hosts
// that serve enough; of two nothing tells the liar from the larger one. What is beyond is thinned evenly: of t
// connections that a record stands for, at a bound of m of n, so many stay that of the first k in order floor(k m/n)
// do. So a bound holds to the connection, a host's own figures keep their expectation, and the same records give the
// same figures.
//
// The rest of the design is in what it does not use. Shares of the whole would cut a host that is busy while others
// stand by. A median of the others would cut the larger half of a PoP of two generations. A vote on rates would cut the
// host whose clients are far away.

const (
	// F is a ratio of honest hosts: network cards of one generation and the next (10 and 40, 25 and 100 Gbit/s).
	maxRatio = 4
	// minHosts that serve enough make a comparison.
	minHosts = 3
	// minConns of a window is enough: the count of 100 is known to 10 %, so that a ratio of four is not chance. A
	// host that stands by says nothing of one that serves.
	minConns = 100
	// minNet connections in a network are left to every host: of few, nearly all may be at one.
	minNet = 10
)

// bounds say how much of each host counts. Hosts and networks that are not in it count in full.
type bounds map[string]*bound

type bound struct {
	all   thinning
	kinds []kind
	nets  map[record.Prefix]*thinning
	below uint64 // as sent's
}

// thinning leaves most of n connections.
type thinning struct {
	n, most, seen uint64
}

func (t *thinning) of(times uint64) uint64 {
	before := t.left()
	t.seen = min(t.seen+times, t.n) // what came since it was counted is not
	return t.left() - before
}

func (t *thinning) left() uint64 {
	if t.most >= t.n {
		return t.seen
	}
	return uint64(float64(t.seen) * (float64(t.most) / float64(t.n)))
}

// take returns for how many connections a record counts. Records must come in the order of the inbox.
func (b bounds) take(host string, c *record.Conn) uint64 {
	h := b[host]
	if h == nil || !counted(c) {
		return c.Times()
	}
	if spread(c.Prefix) >= h.below || !slices.ContainsFunc(h.kinds, func(k kind) bool { return k.cong == c.Cong }) {
		return 0
	}
	n := c.Times()
	if t := h.nets[c.Prefix]; t != nil {
		n = t.of(n)
	}
	return h.all.of(n)
}

// bounds applies the rules above; nil is that every host is within. One host alone is what loop/window bounds.
func (t *tally) bounds() bounds {
	if len(t.hosts) < 2 {
		return nil
	}
	b := bounds{}
	var conns top
	solid := 0
	for _, s := range t.hosts {
		conns.add(s.conns)
		if s.conns >= minConns {
			solid++
		}
	}
	known := t.known()
	compare := solid >= minHosts
	if compare {
		t.boundNets(b, known)
	}
	t.boundOwn(b, known, compare)
	t.boundKinds(b)
	for name, s := range t.hosts {
		n := t.within(b[name], s)
		if most := maxRatio * conns.other(s.conns); n < s.conns || compare && n > most {
			if !compare {
				most = n
			}
			b.of(name, s).all = thinning{n: n, most: most}
		}
	}
	if len(b) == 0 {
		return nil
	}
	return b
}

func (b bounds) of(name string, s *sent) *bound {
	if b[name] == nil {
		b[name] = &bound{kinds: s.kinds, nets: map[record.Prefix]*thinning{}, below: s.below}
	}
	return b[name]
}

// within is what the bounds of its networks leave of a host.
func (t *tally) within(b *bound, s *sent) (n uint64) {
	for _, conns := range s.nets {
		n += conns
	}
	if b == nil {
		return n
	}
	for _, cut := range b.nets {
		n -= cut.n - cut.most
	}
	for _, k := range s.kinds {
		if !slices.Contains(b.kinds, k) {
			n -= min(n, k.conns) // some of them are in what was cut
		}
	}
	return n
}

// boundKinds leaves the kinds of congestion control that most hosts have, and of those that as many have the ones that
// matter more to a host: one host's inventions do not push out what another has.
func (t *tally) boundKinds(b bounds) {
	type seen struct {
		cong         string
		hosts, place int
	}
	all := map[string]*seen{}
	for _, s := range t.hosts {
		slices.SortFunc(s.kinds, func(a, b kind) int { return cmp.Or(cmp.Compare(b.conns, a.conns), cmp.Compare(a.cong, b.cong)) })
		for i, k := range s.kinds {
			at := all[k.cong]
			if at == nil {
				at = &seen{cong: k.cong, place: i}
				all[k.cong] = at
			}
			at.hosts, at.place = at.hosts+1, min(at.place, i)
		}
	}
	if len(all) <= window.MaxCongs {
		return
	}
	order := slices.SortedFunc(maps.Values(all), func(a, b *seen) int {
		return cmp.Or(cmp.Compare(b.hosts, a.hosts), cmp.Compare(a.place, b.place), cmp.Compare(a.cong, b.cong))
	})[:window.MaxCongs]
	for name, s := range t.hosts {
		kept := slices.DeleteFunc(slices.Clone(s.kinds), func(k kind) bool {
			return !slices.ContainsFunc(order, func(o *seen) bool { return o.cong == k.cong })
		})
		if len(kept) < len(s.kinds) {
			b.of(name, s).kinds = kept
		}
	}
}

// net is the hosts that have a network.
type net struct {
	hosts int
	top   top
}

func (t *tally) known() map[record.Prefix]net {
	all := map[record.Prefix]net{}
	for _, s := range t.hosts {
		for p, n := range s.nets {
			at := all[p]
			at.hosts++
			at.top.add(n)
			all[p] = at
		}
	}
	return all
}

// boundNets bounds each host in the networks that others have too.
func (t *tally) boundNets(b bounds, known map[record.Prefix]net) {
	for name, s := range t.hosts {
		for p, n := range s.nets {
			at := known[p]
			if most := maxRatio * max(at.top.other(n), minNet); at.hosts > 1 && n > most {
				b.of(name, s).nets[p] = &thinning{n: n, most: most}
			}
		}
	}
}

// boundOwn bounds the networks that only one host has: a flood of one must not take the places of the others'.
func (t *tally) boundOwn(b bounds, known map[record.Prefix]net, compare bool) {
	own := map[string][]record.Prefix{}
	var most top
	shared := 0
	for _, at := range known {
		if at.hosts > 1 {
			shared++
		}
	}
	for name, s := range t.hosts {
		own[name] = slices.DeleteFunc(slices.Collect(maps.Keys(s.nets)), func(p record.Prefix) bool { return known[p].hosts > 1 })
		most.add(uint64(len(own[name])))
	}
	limit := map[string]int{}
	var sizes []float64
	for name, list := range own {
		limit[name] = len(list)
		if compare {
			limit[name] = min(len(list), maxRatio*int(max(most.other(uint64(len(list))), uint64(shared/(len(own)-1)))))
		}
		sizes = append(sizes, float64(limit[name]))
	}
	each := mostEach(sizes, float64(max(0, t.maxNets-shared)))
	for name, list := range own {
		keep := limit[name]
		if float64(keep) > each {
			keep = int(each)
		}
		if s := t.hosts[name]; keep < len(list) {
			s.byCount(list)
			for _, p := range list[keep:] {
				b.of(name, s).nets[p] = &thinning{n: s.nets[p]}
			}
		}
	}
}
