package netns

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/core/record"
)

// The generated networks must be what the product calls client prefixes, all distinct.
func TestClientNets(t *testing.T) {
	seen := map[record.Prefix]bool{}
	for i := range 300 {
		for _, n := range []netip.Prefix{ClientNet4(i), ClientNet6(i)} {
			p, err := record.ParsePrefix(n.String())
			if err != nil || seen[p] {
				t.Fatalf("%d: %v, seen %v, %v", i, n, seen[p], err)
			}
			seen[p] = true
		}
	}
	if got := ClientNet4(256).String(); got != "198.19.0.0/24" {
		t.Errorf("got %s", got)
	}
}

func TestLayOut(t *testing.T) {
	n, err := layOut(Client{Prefix: ClientNet6(2), Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Addr{netip.MustParseAddr("2001:db8:0:200::a"), netip.MustParseAddr("2001:db8:0:200::b")}
	if n.Edge.String() != "2001:db8:0:200::1" || n.Server != EdgeAddr6 || !slices.Equal(n.Addrs, want) {
		t.Errorf("got %+v", n)
	}
	for _, p := range []string{"198.18.0.0/23", "198.18.0.1/24", "2001:db8::/64"} {
		if _, err := layOut(Client{Prefix: netip.MustParsePrefix(p)}); err == nil {
			t.Errorf("%s: accepted", p)
		}
	}
	if _, err := layOut(Client{}); err == nil {
		t.Error("no prefix: accepted")
	}
}

func TestShapeDefaults(t *testing.T) {
	s := Shape{RateBytesPerS: 125_000} // 1 Mbit/s: 10 ms are less than two packets
	if s.burst() != minBurst || s.limit() != 125_000/20+minBurst {
		t.Errorf("burst %d, limit %d", s.burst(), s.limit())
	}
	s = Shape{RateBytesPerS: 1_250_000, BurstBytes: 5000, LimitBytes: 7000}
	if s.burst() != 5000 || s.limit() != 7000 {
		t.Errorf("burst %d, limit %d", s.burst(), s.limit())
	}
}

func TestOwner(t *testing.T) {
	if pid, ok := owner("demo", nameOf("demo", "c1")); !ok || pid <= 0 {
		t.Errorf("own name not known: %d, %v", pid, ok)
	}
	for _, name := range []string{"congctl-demo-x-1-edge", "congctl-demo-12", "congctl-demos-12-edge", "edge", "congctl-demo--1-edge"} {
		if pid, ok := owner("demo", name); ok {
			t.Errorf("%s: owned by %d", name, pid)
		}
	}
}

func TestCreateRefusesPaths(t *testing.T) {
	for _, name := range []string{"", "a/b", "..", ".hidden"} {
		if ns, err := Create(name); err == nil || !strings.Contains(err.Error(), "not a plain name") {
			t.Errorf("%q: %v, %v", name, ns, err)
		}
	}
}
