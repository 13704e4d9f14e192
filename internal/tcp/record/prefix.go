package record

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
)

// Prefix is a client network: a /24 of IPv4 or a /56 of IPv6, packed in 64 bits
// so that it can be the key of a kernel map, of a Go map and of a sorted file.
//
//	IPv6: bits 63..8 the network, low byte 56
//	IPv4: bits 31..8 the network, low byte 24, bits 63..32 zero
//
// Numeric order is therefore IPv4 first, then IPv6, each by address. The only
// IPv6 networks that could collide with IPv4 ones start with 32 zero bits
// (::/32: unspecified, loopback, v4-mapped); PrefixOf unmaps or refuses them.
// The zero value is no prefix. The eBPF program computes the same number.
type Prefix uint64

// All stands for all client networks as one: a plan may treat what it does not list, by blocks that are drawn for the whole PoP.
// No address is in it, and it is no network: Valid is false. Its text is "all".
const All Prefix = 0xff

const (
	bitsV4 = 24 // one /24: what a CDN routes and what an access network hands to one PoP's neighbourhood
	bitsV6 = 56 // one /56: the usual delegation to one home, so the smallest unit that is one network path
)

// PrefixOf cuts addr to its client network. IPv4-mapped IPv6 counts as IPv4.
// ok is false for an invalid address and for ::/32.
func PrefixOf(addr netip.Addr) (p Prefix, ok bool) {
	addr = addr.Unmap()
	switch {
	case addr.Is4():
		b := addr.As4()
		return Prefix(binary.BigEndian.Uint32(b[:])&0xffffff00 | bitsV4), true
	case addr.Is6():
		b := addr.As16()
		hi := binary.BigEndian.Uint64(b[:8])
		if hi>>32 == 0 {
			return 0, false
		}
		return Prefix(hi&^0xff | bitsV6), true
	}
	return 0, false
}

// ParsePrefix reads "203.0.113.0/24" or "2001:db8:0:ab00::/56", or "all". It refuses any
// other length and any set host bit, and names the fix.
func ParsePrefix(s string) (Prefix, error) {
	if s == all {
		return All, nil
	}
	n, err := netip.ParsePrefix(s)
	if err != nil {
		return 0, fmt.Errorf("parse prefix %.60q: not a network; write one as 203.0.113.0/24 or 2001:db8:0:ab00::/56", s)
	}
	p, ok := PrefixOf(n.Addr())
	switch m := n.Masked(); {
	case n.Addr().Is4In6():
		return 0, fmt.Errorf("parse prefix %.60q: IPv4-mapped; write %s", s, p)
	case !ok:
		return 0, fmt.Errorf("parse prefix %.60q: ::/32 holds no clients", s)
	case n.Bits() > p.Netip().Bits():
		return 0, fmt.Errorf("parse prefix %.60q: length /%d; a client prefix is /24 (IPv4) or /56 (IPv6): write %s", s, n.Bits(), p)
	case n.Bits() < p.Netip().Bits():
		return 0, fmt.Errorf("parse prefix %.60q: length /%d; a client prefix is /24 (IPv4) or /56 (IPv6): write one in it, as %s", s, n.Bits(), p)
	case m != n:
		return 0, fmt.Errorf("parse prefix %.60q: host bits set; write %s", s, m)
	}
	return p, nil
}

// ParseAddrOrPrefix reads what ParsePrefix reads, and maps an address to its client
// network: 203.0.113.7 and ::ffff:203.0.113.7 are in 203.0.113.0/24.
func ParseAddrOrPrefix(s string) (Prefix, error) {
	a, err := netip.ParseAddr(s)
	if err != nil && !strings.Contains(s, "/") && s != all {
		return 0, fmt.Errorf("parse prefix %.60q: neither an address nor a network; write 203.0.113.7 or 203.0.113.0/24", s)
	} else if err != nil {
		return ParsePrefix(s)
	}
	p, ok := PrefixOf(a)
	if !ok {
		return 0, fmt.Errorf("parse prefix %.60q: ::/32 holds no clients", s)
	}
	return p, nil
}

// Is4 reports whether p is an IPv4 network.
func (p Prefix) Is4() bool { return p>>32 == 0 }

// Valid reports whether p could have come from PrefixOf.
func (p Prefix) Valid() bool {
	if p.Is4() {
		return p&0xff == bitsV4
	}
	return p&0xff == bitsV6
}

// Netip returns p as the standard library's type; the zero netip.Prefix if p is not valid.
func (p Prefix) Netip() netip.Prefix {
	if !p.Valid() {
		return netip.Prefix{}
	}
	if p.Is4() {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(p)&^0xff)
		return netip.PrefixFrom(netip.AddrFrom4(b), bitsV4)
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(p)&^0xff)
	return netip.PrefixFrom(netip.AddrFrom16(b), bitsV6)
}

// String prints the canonical form that ParsePrefix reads.
func (p Prefix) String() string {
	switch {
	case p == All:
		return all
	case !p.Valid():
		return fmt.Sprintf("invalid-prefix(%#x)", uint64(p))
	}
	return p.Netip().String()
}

// MarshalText lets a prefix be a JSON string or a JSON map key.
func (p Prefix) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (p *Prefix) UnmarshalText(b []byte) error {
	q, err := ParsePrefix(string(b))
	if err == nil {
		*p = q
	}
	return err
}

// Site returns what one customer of an address registry usually has at most, of which p is
// part: a /48 of IPv6, a /20 of IPv4, as the number of its first network. Rules that count
// networks bound what one site can do to the others: 256 /56 of one /48 cost nothing.
func (p Prefix) Site() Prefix {
	if p>>32 == 0 {
		return p >> (32 - siteBitsV4) << (32 - siteBitsV4)
	}
	return p >> (64 - siteBitsV6) << (64 - siteBitsV6)
}

const siteBitsV6, siteBitsV4 = 48, 20

const all = "all" // the text of All
