package ranges

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestSpecial(t *testing.T) {
	for in, want := range map[string]string{
		"0.1.2.0/24":           "RFC 1122",
		"10.255.255.0/24":      "RFC 1918",
		"11.0.0.0/24":          "",
		"100.63.255.0/24":      "",
		"100.64.0.0/24":        "RFC 6598",
		"100.128.0.0/24":       "",
		"127.0.0.0/24":         "RFC 1122",
		"169.254.7.0/24":       "RFC 3927",
		"172.15.255.0/24":      "",
		"172.31.255.0/24":      "RFC 1918",
		"172.32.0.0/24":        "",
		"192.0.0.0/24":         "RFC 6890",
		"192.0.1.0/24":         "",
		"192.168.1.0/24":       "RFC 1918",
		"8.0.0.0/6":            "RFC 1918", // holds 10.0.0.0/8
		"::ffff:10.1.1.0/120":  "RFC 1918",
		"223.255.255.0/24":     "",
		"239.1.1.0/24":         "RFC 5771",
		"255.255.255.0/24":     "RFC 1112",
		"::/56":                "RFC 4291",
		"64:ff9b::/56":         "RFC 6052",
		"64:ff9b:0:100::/56":   "",
		"64:ff9b:1:ff00::/56":  "RFC 8215",
		"100::/56":             "RFC 6666",
		"2002:cb00:7100::/56":  "",
		"fbff:ffff::/56":       "",
		"fd12:3456:789a::/56":  "RFC 4193",
		"fe80::/56":            "RFC 4291",
		"fec0::/56":            "RFC 3879",
		"ff02::/56":            "RFC 4291",
		"192.0.2.0/24":         "", // documentation and benchmark ranges serve in demos
		"198.51.100.0/24":      "",
		"203.0.113.0/24":       "",
		"198.18.0.0/24":        "",
		"198.19.255.0/24":      "",
		"2001:db8:0:ab00::/56": "",
	} {
		name, ok := Special(netip.MustParsePrefix(in))
		if ok != (want != "") || !strings.Contains(name, want) {
			t.Errorf("Special(%s) = %q, %v; want %q", in, name, ok, want)
		}
	}
}

func TestSpecialAddr(t *testing.T) {
	for in, want := range map[string]bool{
		"127.0.0.1": true, "::1": true, "::ffff:192.168.0.1": true, "fe80::1%eth0": true,
		"203.0.113.9": false, "2001:db8::1": false, "::ffff:198.51.100.1": false,
	} {
		if name, ok := SpecialAddr(netip.MustParseAddr(in)); ok != want {
			t.Errorf("SpecialAddr(%s) = %q, %v", in, name, ok)
		}
	}
	if name, ok := SpecialAddr(netip.Addr{}); ok {
		t.Errorf("the zero address is in %q", name)
	}
}

func TestCovering(t *testing.T) {
	list := []netip.Prefix{
		{},
		netip.MustParsePrefix("203.0.113.7/32"),
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("::ffff:198.51.100.0/120"),
		netip.MustParsePrefix("2001:db8::/32"),
	}
	for in, want := range map[string]string{
		"203.0.113.0/24":     "", // one address of it is listed, not the prefix
		"10.1.2.0/24":        "10.0.0.0/8",
		"198.51.100.0/24":    "::ffff:198.51.100.0/120",
		"2001:db8:1::/56":    "2001:db8::/32",
		"2001:db9::/56":      "",
		"8.0.0.0/6":          "",
		"::ffff:10.0.0.0/96": "",
	} {
		r, ok := Covering(list, netip.MustParsePrefix(in))
		if ok != (want != "") || ok && r.String() != want {
			t.Errorf("Covering(%s) = %s, %v; want %q", in, r, ok, want)
		}
	}
}

func TestWidened(t *testing.T) {
	for in, want := range map[string]string{
		"64:ff9b::/96":          "64:ff9b::/56",
		"2001:db8:0:ab12::/64":  "2001:db8:0:ab00::/56",
		"203.0.113.128/25":      "203.0.113.0/24",
		"::ffff:10.1.2.128/121": "10.1.2.0/24",
		"203.0.113.0/24":        "",
		"10.0.0.0/8":            "",
		"64:ff9b::/56":          "",
		"::/0":                  "",
	} {
		got, ok := Widened(netip.MustParsePrefix(in))
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("Widened(%s) = %s, %v; want %q", in, got, ok, want)
		}
	}
	if p, ok := Widened(netip.Prefix{}); ok {
		t.Errorf("the zero prefix is widened to %s", p)
	}
}

// TestSpecials: an address is in the list if and only if it is special and not allowed.
func TestSpecials(t *testing.T) {
	allow := []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24"), netip.MustParsePrefix("127.0.0.0/7"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("203.0.113.0/24")}
	list := Specials(allow)
	for in, want := range map[string]bool{
		"10.1.1.255": true, "10.1.2.0": false, "10.1.2.255": false, "10.1.3.0": true, "10.255.255.255": true, "11.0.0.0": false,
		"127.0.0.1": false, "192.168.1.1": true, "203.0.113.1": false, "8.8.8.8": false,
		"fc00::1": true, "fd00::1": false, "fe80::1": true, "2001:db8::1": false, "::1": true, "::ffff:8.8.8.8": false, "64:ff9b::1": true,
	} {
		a := netip.MustParseAddr(in)
		if got := slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) }); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
	if n := len(Specials(nil)); n != len(specials) {
		t.Errorf("%d of %d without exceptions", n, len(specials))
	}
	if n := len(list); n > len(specials)+14 { // a /24 of a /8 leaves 16 parts of it
		t.Errorf("%d ranges", n)
	}
}
