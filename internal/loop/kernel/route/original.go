package route

import (
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// The kernel takes the longest network that holds an address and, among routes to
// it, the lowest metric (net/ipv4/fib_trie.c, net/ipv6/ip6_fib.c). For a prefix P
// whose real route is R:
//
//	R wider than P   one copy, to P
//	R equal to P     two copies, to the halves of P: an equal route has an owner,
//	                 and is neither replaced nor outranked
//	Q inside P       stays as it is and wins for its addresses
//
// Copies have a metric above all sane ones. When a routing daemon later brings a
// route to the very network of a copy, its route wins at once. FRR reads the upper
// byte of a foreign route's metric as its administrative distance; 255 keeps it
// from taking a copy for the best route (zebra/rt_netlink.c).

// originals are the routes of one family that touch the targets.
type originals struct {
	targets []netip.Prefix // sorted, all of one length, none twice
	bits    int
	byDst   map[netip.Prefix][]entry
	inside  map[netip.Prefix][]netip.Prefix // by target
}

func newOriginals(sorted []netip.Prefix) *originals {
	o := &originals{targets: sorted, byDst: map[netip.Prefix][]entry{}, inside: map[netip.Prefix][]netip.Prefix{}}
	if len(sorted) > 0 {
		o.bits = sorted[0].Bits()
	}
	return o
}

// touches reports whether a route to dst matters to any target. It is called for each
// route of the table, and a router may have a million.
func (o *originals) touches(dst netip.Prefix) bool {
	if len(o.targets) == 0 {
		return false
	}
	if dst.Bits() > o.bits {
		dst = netip.PrefixFrom(dst.Addr(), o.bits).Masked()
	}
	i, _ := slices.BinarySearchFunc(o.targets, dst.Addr(), func(p netip.Prefix, a netip.Addr) int { return p.Addr().Compare(a) })
	return i < len(o.targets) && dst.Contains(o.targets[i].Addr())
}

func (o *originals) add(e entry) {
	o.byDst[e.dst] = append(o.byDst[e.dst], e)
	if e.dst.Bits() > o.bits && len(o.byDst[e.dst]) == 1 {
		p := netip.PrefixFrom(e.dst.Addr(), o.bits).Masked()
		o.inside[p] = append(o.inside[p], e.dst)
	}
}

// of returns the route that the kernel uses for p where nothing inside p is more specific,
// or why none can be copied.
func (o *originals) of(p netip.Prefix) (entry, error) {
	for bits := p.Bits(); bits >= 0; bits-- {
		dst := netip.PrefixFrom(p.Addr(), bits).Masked()
		alive := slices.DeleteFunc(slices.Clone(o.byDst[dst]), func(e entry) bool { return !e.alive() })
		if len(alive) > 0 {
			return pick(alive)
		}
	}
	return entry{}, fmt.Errorf("no route leads to it")
}

// pick takes the route of the lowest metric out of those to one network.
func pick(same []entry) (entry, error) {
	best, n := same[0], 0
	for _, e := range same {
		if e.tos != 0 || e.from {
			return e, fmt.Errorf("route %q matches on more than the destination", e)
		}
		if e.metric < best.metric {
			best = e
		}
	}
	for _, e := range same {
		if e.metric == best.metric {
			n++
		}
	}
	switch {
	case n > 1:
		return best, fmt.Errorf("%d routes to %s have the same metric: which one the kernel uses is unknown", n, best.dst)
	case best.kind != unix.RTN_UNICAST:
		return best, fmt.Errorf("route %q forwards nothing", best)
	case best.odd != "":
		return best, fmt.Errorf("route %q has %s", best, best.odd)
	case best.values.locked(unix.RTAX_CC_ALGO):
		return best, fmt.Errorf("route %q locks its congestion control", best)
	}
	return best, nil
}

// pieces are the networks of the copies: p, or its halves when dst is p itself. A
// half that has a route already is left out: that one wins.
func (o *originals) pieces(p, dst netip.Prefix) []netip.Prefix {
	if dst != p {
		return []netip.Prefix{p}
	}
	lo, hi := halves(p)
	return slices.DeleteFunc([]netip.Prefix{lo, hi}, func(h netip.Prefix) bool { return len(o.byDst[h]) > 0 })
}

func halves(p netip.Prefix) (lo, hi netip.Prefix) {
	b := p.Addr().AsSlice()
	b[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	upper, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(p.Addr(), p.Bits()+1), netip.PrefixFrom(upper, p.Bits()+1)
}

// copyOf is e to another network, with a congestion control, and ours.
func copyOf(e entry, dst netip.Prefix, cong string) entry {
	e.dst, e.cong, e.proto, e.metric = dst, cong, Proto, metric
	return e
}
