package route

import (
	"net/netip"
	"slices"
)

// Policy rules (ip rule) may lead past the main table, and then our routes exist but are
// idle. So we query the kernel for its way to an address of each prefix, as for a packet
// without mark and source address.

// confirm counts the targets whose way has their congestion control, and adds to sc the
// reasons for the others.
func (r *Router) confirm(sc *scene) (n int) {
	for _, t := range sc.chosen {
		p := t.prefix.Netip()
		cong, asked, err := r.sight(r.piecesOf(p), sc.inside[p])
		switch {
		case err != nil:
			sc.skip(t, "the kernel has no route to it: %v", err)
		case asked && cong != t.cong:
			sc.skip(t, "the kernel's route to it has congctl %q: a policy rule or another table comes first", cong)
		case asked:
			n++
		}
	}
	return n
}

// piecesOf are the networks of our routes for p.
func (r *Router) piecesOf(p netip.Prefix) (out []netip.Prefix) {
	lo, hi := halves(p)
	for _, n := range []netip.Prefix{p, lo, hi} {
		if _, ok := r.put[n]; ok {
			out = append(out, n)
		}
	}
	return out
}

// sight looks up the way to the first address that belongs to a copy: neither this host's
// own nor on a more specific route.
func (r *Router) sight(pieces, inside []netip.Prefix) (cong string, asked bool, err error) {
	for _, piece := range pieces {
		for i := range byte(probes) {
			a := probe(piece, i)
			if slices.ContainsFunc(inside, func(n netip.Prefix) bool { return n.Contains(a) }) {
				continue
			}
			cong, local, err := r.tab.congOf(a)
			if err != nil {
				return "", false, err
			}
			if !local {
				return cong, true, nil
			}
		}
	}
	return "", false, nil
}

// probes are one address in each eighth of a piece.
const probes = 8

// probe is the first host address of the i-th eighth of n, which is a /24, /25,
// /56 or /57.
func probe(n netip.Prefix, i byte) netip.Addr {
	b := n.Addr().AsSlice()
	b[n.Bits()/8] |= i << (5 - n.Bits()%8)
	b[len(b)-1] |= 1
	a, _ := netip.AddrFromSlice(b)
	return a
}
