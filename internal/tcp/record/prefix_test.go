package record

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestPrefixRoundTripAndOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var ps []Prefix
	for range 2000 {
		var a netip.Addr
		if rng.IntN(2) == 0 {
			a = netip.AddrFrom4([4]byte{byte(rng.IntN(256)), byte(rng.IntN(256)), byte(rng.IntN(256)), byte(rng.IntN(256))})
		} else {
			var b [16]byte
			for i := range b {
				b[i] = byte(rng.IntN(256))
			}
			b[0] |= 0x20
			a = netip.AddrFrom16(b)
		}
		p, ok := PrefixOf(a)
		if !ok || !p.Valid() || !p.Netip().Contains(a) {
			t.Fatalf("PrefixOf(%s) = %v, %v", a, p, ok)
		}
		bits := 56
		if a.Is4() {
			bits = 24
		}
		want, _ := a.Prefix(bits)
		if p.Netip() != want {
			t.Fatalf("PrefixOf(%s) = %s, the standard library cuts it to %s", a, p, want)
		}
		q, err := ParsePrefix(p.String())
		if err != nil || q != p {
			t.Fatalf("ParsePrefix(%s) = %v, %v", p, q, err)
		}
		ps = append(ps, p)
	}
	slices.Sort(ps)
	for i := 1; i < len(ps); i++ {
		a, b := ps[i-1].Netip(), ps[i].Netip()
		if a.Addr().Is6() && b.Addr().Is4() || a.Addr().Is4() == b.Addr().Is4() && b.Addr().Less(a.Addr()) {
			t.Fatalf("numeric order puts %s before %s", a, b)
		}
	}
}

func TestPrefixOfMapped(t *testing.T) {
	p, ok := PrefixOf(netip.MustParseAddr("::ffff:203.0.113.77"))
	if !ok || p.String() != "203.0.113.0/24" {
		t.Fatalf("mapped address: %v %v", p, ok)
	}
	if p, ok := PrefixOf(netip.MustParseAddr("::1")); ok {
		t.Fatalf("loopback got prefix %v", p)
	}
}

func TestParsePrefixErrors(t *testing.T) {
	for in, want := range map[string]string{
		"203.0.113.7/24":     "write 203.0.113.0/24",
		"203.0.113.128/25":   "/24 (IPv4) or /56 (IPv6): write 203.0.113.0/24",
		"203.0.113.0/20":     "write one in it, as 203.0.113.0/24",
		"2001:db8::/48":      "/24 (IPv4) or /56 (IPv6): write one in it, as 2001:db8::/56",
		"2001:db8::1/128":    "write 2001:db8::/56",
		"::ffff:1.2.3.0/120": "IPv4-mapped; write 1.2.3.0/24",
		"::/56":              "::/32 holds no clients",
		"x":                  "not a network",
	} {
		_, err := ParsePrefix(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePrefix(%q) = %v, want an error with %q", in, err, want)
		}
	}
}

func TestParseAddrOrPrefix(t *testing.T) {
	for in, want := range map[string]string{
		"203.0.113.0/24":       "203.0.113.0/24",
		"203.0.113.77":         "203.0.113.0/24",
		"::ffff:203.0.113.77":  "203.0.113.0/24",
		"2001:db8:0:abcd::1":   "2001:db8:0:ab00::/56",
		"2001:db8:0:ab00::/56": "2001:db8:0:ab00::/56",
		"fe80::1%eth0":         "fe80::/56",
	} {
		if p, err := ParseAddrOrPrefix(in); err != nil || p.String() != want {
			t.Errorf("ParseAddrOrPrefix(%q) = %v, %v, want %s", in, p, err, want)
		}
	}
	for in, want := range map[string]string{
		"203.0.113":        "neither an address nor a network",
		"client.example":   "neither an address nor a network",
		"203.0.113.7/24":   "host bits set; write 203.0.113.0/24",
		"203.0.113.7/32":   "write 203.0.113.0/24",
		"::1":              "::/32 holds no clients",
		"203.0.113.300/24": "not a network",
		"":                 "neither an address nor a network",
	} {
		if p, err := ParseAddrOrPrefix(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseAddrOrPrefix(%q) = %v, %v, want an error with %q", in, p, err, want)
		}
	}
}

// TestAll: all networks as one are read back, and are no network.
func TestAll(t *testing.T) {
	for _, read := range []func(string) (Prefix, error){ParsePrefix, ParseAddrOrPrefix} {
		if p, err := read(All.String()); err != nil || p != All {
			t.Errorf("%v, %v", p, err)
		}
	}
	if All.Valid() || All.Netip().IsValid() || All.String() != "all" {
		t.Errorf("%s: valid %t, %s", All, All.Valid(), All.Netip())
	}
}
