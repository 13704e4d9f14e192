package record

import (
	"fmt"
	"net/netip"
)

// Addresses rules what is kept of a client's address wherever it would leave
// memory: a store, a records file, a log line, an API answer. Every sink calls
// Redact; none has a rule of its own. Prefixes are no addresses: they are the
// product's unit and are kept under every rule.
type Addresses uint8

const (
	AddressesPrefix Addresses = iota // the address of the client network (/24 or /56), no port: the default
	AddressesFull                    // address and port as seen
	AddressesNone                    // nothing
)

var addressesNames = [...]string{"prefix", "full", "none"}

func (a Addresses) String() string { return nameOf(addressesNames[:], int(a), "addresses") }

// MarshalText prints the rule by name.
func (a Addresses) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads "prefix", "full" or "none".
func (a *Addresses) UnmarshalText(b []byte) error {
	return parseName(a, addressesNames[:], b, "addresses")
}

// Redact gives what may be kept of remote. Under "prefix" that is the address
// of its /24 or /56 with port 0; an address that has no client prefix (::1, the
// unspecified one) becomes the zero value, as do all under "none" and under a
// rule that is none of the three: an unknown rule must not leak.
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

// Show is Redact for text: "203.0.113.0/24", "203.0.113.77:5201" or "-".
func (a Addresses) Show(remote netip.AddrPort) string {
	kept := a.Redact(remote)
	if !kept.IsValid() {
		return "-"
	}
	if a == AddressesFull {
		return kept.String()
	}
	p, _ := PrefixOf(kept.Addr())
	return fmt.Sprint(p)
}
