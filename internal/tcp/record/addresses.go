package record

import "net/netip"

// Addresses decides what is kept of a client's address wherever it would leave memory: a
// store, a records file, a log line, an API answer. Every sink calls Redact; none has its
// own rule. Prefixes are not addresses: they are the product's unit and kept under every
// rule.
type Addresses uint8

const (
	AddressesPrefix Addresses = iota // the address of the client network (/24 or /56), no port: the default
	AddressesFull                    // address and port as seen
	AddressesNone                    // nothing
)

var addressesNames = [...]string{"prefix", "full", "none"}

func (a Addresses) String() string { return NameOf(addressesNames[:], int(a), "addresses") }

// MarshalText prints the rule by name.
func (a Addresses) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads "prefix", "full" or "none".
func (a *Addresses) UnmarshalText(b []byte) error {
	return ParseName(a, addressesNames[:], b, "addresses")
}

// Redact returns what may be kept of remote. Under "prefix" that is the address of its
// /24 or /56 with port 0. An address without a client prefix (::1, the unspecified one)
// becomes the zero value, as does every address under "none" and under an unknown rule,
// which must not leak.
func (a Addresses) Redact(remote netip.AddrPort) netip.AddrPort {
	switch a {
	case AddressesFull:
		return remote
	case AddressesPrefix:
		if p, ok := PrefixOf(remote.Addr()); ok {
			return netip.AddrPortFrom(p.Netip().Addr(), 0)
		}
	}
	return netip.AddrPort{}
}
