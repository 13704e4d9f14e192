package network

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

func nets(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func TestLongestWins(t *testing.T) {
	table, err := NewTable([]Named{
		{"carrier", nets("203.0.0.0/8", "2001:db8::/32")},
		{"city", nets("203.0.112.0/20", "2001:db8:0:ab00::/56")},
		{"street", nets("203.0.113.0/24")},
		{"rest", nets("0.0.0.0/0")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]string{
		"203.0.113.0/24": "street", "203.0.114.0/24": "city", "203.1.0.0/24": "carrier", "198.51.100.0/24": "rest",
		"2001:db8:0:ab00::/56": "city", "2001:db8:0:ac00::/56": "carrier", "2001:db9::/56": "",
	} {
		p, err := record.ParsePrefix(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Of(p); got != want {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
	}
	if table.Of(0) != "" || (*Table)(nil).Of(1) != "" {
		t.Error("no prefix, or no table, has a name")
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.0/25":         "narrower than a client network (/24); write 203.0.113.0/24",
		"2001:db8::/64":          "narrower than a client network (/56); write 2001:db8::/56",
		"203.0.113.7/24":         "host bits set; write 203.0.113.0/24",
		"::ffff:203.0.113.0/120": "IPv4-mapped",
	} {
		_, err := NewTable([]Named{{"x", nets(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := NewTable([]Named{{"x", nets("203.0.113.0/24")}, {"y", nets("203.0.113.0/24")}})
	if err == nil || err.Error() != "name network y: 203.0.113.0/24: also under x; keep one" {
		t.Error(err)
	}
}

// slowOf asks every prefix.
func slowOf(list []Named, p record.Prefix) (name string) {
	best := -1
	for _, n := range list {
		for _, q := range n.Prefixes {
			if q.Bits() > best && q.Contains(p.Netip().Addr()) {
				best, name = q.Bits(), n.Name
			}
		}
	}
	return name
}

// Few bits vary, so that prefixes nest.
func drawPrefix(t *rapid.T) netip.Prefix {
	if rapid.Bool().Draw(t, "v6") {
		a := netip.AddrFrom16([16]byte{0x20, 1, rapid.Byte().Draw(t, "b") & 3, 0, 0, 0, rapid.Byte().Draw(t, "c") & 3})
		p, _ := a.Prefix(rapid.IntRange(16, 56).Draw(t, "bits"))
		return p
	}
	a := netip.AddrFrom4([4]byte{203, rapid.Byte().Draw(t, "b") & 3, rapid.Byte().Draw(t, "c") & 3, 0})
	p, _ := a.Prefix(rapid.IntRange(6, 24).Draw(t, "bits"))
	return p
}

func TestAgainstSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Named
		taken := map[netip.Prefix]bool{}
		for i := range rapid.IntRange(1, 8).Draw(t, "networks") {
			n := Named{Name: string(rune('a' + i))}
			for range rapid.IntRange(1, 4).Draw(t, "prefixes") {
				if p := drawPrefix(t); !taken[p] {
					taken[p] = true
					n.Prefixes = append(n.Prefixes, p)
				}
			}
			list = append(list, n)
		}
		table, err := NewTable(list)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			p, _ := record.PrefixOf(drawPrefix(t).Addr())
			if got, want := table.Of(p), slowOf(list, p); got != want {
				t.Fatalf("%s: %q, want %q", p, got, want)
			}
		}
	})
}

func TestTenants(t *testing.T) {
	ts := Tenants{
		{Name: "shop", Hosts: []string{"shop.example", "*.shop.example"}},
		{Name: "media", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}},
		{Name: "api", Ports: []uint16{8443}, Hosts: []string{"api.example"}},
		{Name: "other-api", Ports: []uint16{8443}},
	}
	for _, c := range []struct{ host, server, want string }{
		{"shop.example", "192.0.2.1:443", "shop"},
		{"WWW.Shop.Example.:443", "192.0.2.10:443", "shop"}, // the first that fits
		{"notshop.example", "192.0.2.1:443", ""},
		{".shop.example", "192.0.2.1:443", ""},
		{"", "[::ffff:192.0.2.10]:443", "media"},
		{"api.example", "192.0.2.1:8443", "api"},
		{"api.example", "192.0.2.1:443", ""},
		{"", "192.0.2.1:8443", "other-api"}, // a connection: no host is known
		{"[2001:db8::1]", "192.0.2.1:443", ""},
	} {
		if got := ts.Of(c.host, netip.MustParseAddrPort(c.server)); got != c.want {
			t.Errorf("%q at %s: %q, want %q", c.host, c.server, got, c.want)
		}
	}
}

func TestCheckHost(t *testing.T) {
	for rule, ok := range map[string]bool{"www.example": true, "*.example": true, "*": false, "": false, "a.*.example": false,
		"WWW.example": false, "www.example.": false, "www.example:443": false, "http://www.example": false} {
		if problem, fix := CheckHost(rule); (problem == "") != ok || (problem != "" && fix == "") {
			t.Errorf("%q: %q, %q", rule, problem, fix)
		}
	}
}
