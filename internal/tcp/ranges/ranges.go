// Package ranges names the address ranges that hold no client of a public edge, and looks prefixes up
// in short lists of ranges (allow, deny).
//
// It is not a routing table: lists are scanned, so keep them short (tens).
//
// Its trap: documentation and benchmark ranges are *not* special here. Examples, demos and
// laboratories use them, and no real client has them, so treating one is harmless: 192.0.2.0/24,
// 198.51.100.0/24, 203.0.113.0/24 (RFC 5737), 2001:db8::/32 (RFC 3849), 198.18.0.0/15 (RFC 2544).
package ranges

import (
	"net/netip"
	"slices"
)

type special struct {
	net  netip.Prefix
	name string
}

// From IANA's special-purpose registries (RFC 6890), those whose traffic at an edge is local,
// translated or forged. It leaves out tunnels with clients of their own behind them (6to4, Teredo):
// their paths can be bad and can be helped.
var specials = []special{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network (RFC 1122)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT (RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback (RFC 1122)"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local (RFC 3927)"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments (RFC 6890)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private (RFC 1918)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast (RFC 5771)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved (RFC 1112)"},
	{netip.MustParsePrefix("::/32"), "unspecified, loopback or IPv4-mapped (RFC 4291)"},
	// One /56 holds the whole IPv4 Internet as seen through a translator: a prefix of that size is not a
	// path.
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64 (RFC 6052)"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local-use NAT64 (RFC 8215)"},
	{netip.MustParsePrefix("100::/64"), "discard-only (RFC 6666)"},
	{netip.MustParsePrefix("fc00::/7"), "unique local (RFC 4193)"},
	{netip.MustParsePrefix("fe80::/10"), "link-local (RFC 4291)"},
	{netip.MustParsePrefix("fec0::/10"), "site-local (RFC 3879)"},
	{netip.MustParsePrefix("ff00::/8"), "multicast (RFC 4291)"},
}

// Special names the range that p overlaps, with its RFC; ok is false for a
// prefix that is public as a whole. An IPv4-mapped prefix counts as IPv4.
func Special(p netip.Prefix) (name string, ok bool) {
	p = unmap(p)
	for _, s := range specials {
		if s.net.Overlaps(p) {
			return s.name, true
		}
	}
	return "", false
}

// SpecialAddr is Special for one address.
func SpecialAddr(a netip.Addr) (name string, ok bool) {
	a = a.Unmap().WithZone("")
	return Special(netip.PrefixFrom(a, a.BitLen()))
}

// Specials returns the special ranges without what is in one of allow: an allowed part splits its range. They are for a list in which
// IPv4 is ::ffff:a.b.c.d, so that of ::/32 only the part that holds none is there.
func Specials(allow []netip.Prefix) (out []netip.Prefix) {
	for _, s := range specials {
		if n := s.net; n.Addr().Is6() && n.Addr().IsUnspecified() {
			s.net = netip.PrefixFrom(n.Addr(), 96)
		}
		out = without(out, s.net, allow)
	}
	return out
}

// without appends p, or of its halves what allow leaves.
func without(out []netip.Prefix, p netip.Prefix, allow []netip.Prefix) []netip.Prefix {
	if _, whole := Covering(allow, p); whole {
		return out
	}
	if !slices.ContainsFunc(allow, p.Overlaps) {
		return append(out, p)
	}
	bits := p.Bits()
	upper := p.Addr().AsSlice()
	upper[bits/8] |= 0x80 >> (bits % 8)
	a, _ := netip.AddrFromSlice(upper)
	out = without(out, netip.PrefixFrom(p.Addr(), bits+1), allow)
	return without(out, netip.PrefixFrom(a, bits+1), allow)
}

// Covering returns the first range of list that holds the whole of p. A range inside p does not cover
// it: the kernel's deny list acts on single addresses.
func Covering(list []netip.Prefix, p netip.Prefix) (r netip.Prefix, ok bool) {
	p = unmap(p)
	for _, r := range list {
		if u := unmap(r); u.Bits() <= p.Bits() && u.Overlaps(p) {
			return r, true
		}
	}
	return netip.Prefix{}, false
}

// Widened returns the client prefix (/24 or /56) that p is only a part of; ok is false if p holds a
// whole one. In a list for Covering such a p never takes effect on client prefixes.
func Widened(p netip.Prefix) (client netip.Prefix, ok bool) {
	p = unmap(p)
	bits := 56
	if p.Addr().Is4() {
		bits = 24
	}
	if !p.IsValid() || p.Bits() <= bits {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(p.Addr(), bits).Masked(), true
}

// unmap turns ::ffff:a.b.c.d/96+n into a.b.c.d/n; other prefixes are unchanged.
func unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}
