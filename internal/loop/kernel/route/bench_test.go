package route

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// thousand is 1,000 prefixes of 198.18.0.0/14, half that in IPv6.
func thousand() (out []record.Prefix) {
	for i := range 1000 {
		a := netip.AddrFrom4([4]byte{198, byte(16 + i>>8), byte(i), 0})
		if i%2 == 1 {
			a = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 1, byte(i >> 8), byte(i)})
		}
		p, _ := record.PrefixOf(a)
		out = append(out, p)
	}
	return out
}

// BenchmarkSet1000 is in a kernel, with one default route of each family: all 1,000
// prefixes into force, the minute's renewal that changes nothing, and all out.
func BenchmarkSet1000(b *testing.B) {
	w := newEdge(b).gateways()
	r := w.router()
	full, empty := programOf("bbr", thousand()...), programOf("bbr")
	for b.Loop() {
		if n, err := r.Set(full); n != 1000 || err != nil {
			b.Fatal(n, err)
		}
		if _, err := r.Set(empty); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRenew1000(b *testing.B) {
	w := newEdge(b).gateways()
	r := w.router()
	full := programOf("bbr", thousand()...)
	w.set(r, full)
	for b.Loop() {
		if n, err := r.Set(full); n != 1000 || err != nil {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkTouches is what a route of a full table costs here: nearly all of a
// million concern none.
func BenchmarkTouches(b *testing.B) {
	var nets []netip.Prefix
	for i := range 500 {
		nets = append(nets, netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(16 + i>>8), byte(i), 0}), 24))
	}
	o := newOriginals(nets)
	e, err := parseRoute("203.0.113.0/24 via 192.0.2.254 dev if2 proto 186 metric 20")
	if err != nil {
		b.Fatal(err)
	}
	m := encode(e)
	for b.Loop() {
		h, err := decodeHead(m)
		if err != nil || o.touches(h.dst) {
			b.Fatal(fmt.Sprint(h, err))
		}
	}
}

// BenchmarkRenewBesideFullTable renews 500 prefixes beside 100,000 routes of a
// routing daemon.
func BenchmarkRenewBesideFullTable(b *testing.B) {
	w := newEdge(b).gateways()
	r := w.router()
	e, err := parseRoute("0.0.0.0/24 proto 186 metric 20")
	if err != nil {
		b.Fatal(err)
	}
	e.hops = []hop{{dev: w.index("e0"), gw: netip.MustParseAddr("10.9.0.254")}}
	for i := range 100_000 {
		e.dst = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(20 + i>>16), byte(i >> 8), byte(i), 0}), 24)
		if err := r.tab.do(step{true, e}); err != nil {
			b.Fatal(err)
		}
	}
	full := programOf("bbr", thousand()[:500]...)
	w.set(r, full)
	for b.Loop() {
		if n, err := r.Set(full); n != 500 || err != nil {
			b.Fatal(n, err)
		}
	}
}

// index is the number of a link of the edge.
func (w *edgeWorld) index(link string) (n int32) {
	w.t.Helper()
	if _, err := fmt.Sscanf(w.ipEdge("-o link show dev %s", link), "%d:", &n); err != nil {
		w.t.Fatal(err)
	}
	return n
}
