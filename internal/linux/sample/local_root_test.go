package sample

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
)

// emptyHost is a network namespace, open for polling.
func emptyHost(t *testing.T) (*netns.NS, *Namespaces) {
	t.Helper()
	ns, err := netns.Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	s, err := OpenNamespaces(ns.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return ns, s
}

// route adds a route out of a link. Local routes go where the kernel has its own, unless a table is named.
func route(ns *netns.NS, link, to string, kind, table int) error {
	return ns.Do(func() error {
		l, err := netlink.LinkByName(link)
		if err != nil {
			return err
		}
		p := netip.MustParsePrefix(to)
		scope := netlink.SCOPE_UNIVERSE
		if kind == unix.RTN_LOCAL {
			scope = netlink.SCOPE_HOST
		}
		return netlink.RouteReplace(&netlink.Route{LinkIndex: l.Attrs().Index, Type: kind, Table: table, Scope: scope,
			Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}})
	})
}

// TestLocal: what a namespace has is local, whether all is dumped or each address asked for; what leaves by a link is not.
func TestLocal(t *testing.T) {
	needRoot(t, "it makes links and routes")
	ns, s := emptyHost(t)
	n := s.All()[0]
	if err := s.ReadLocal(); err != nil || n.Local(netip.MustParseAddr("127.0.0.1")) { // without a table, since no link is up
		t.Fatalf("an empty namespace: %v", err)
	}
	err := errors.Join(ns.Up("lo"), netns.Veth(ns, "eth8", ns, "eth9"), ns.Up("eth8"), ns.Up("eth9"),
		ns.AddAddr("eth8", netip.MustParsePrefix("93.184.216.10/24")), ns.AddAddr("eth8", netip.MustParsePrefix("2001:db8:1::10/64")),
		route(ns, "lo", "151.101.0.0/16", unix.RTN_LOCAL, unix.RT_TABLE_LOCAL), route(ns, "lo", "2001:db8:2::/48", unix.RTN_LOCAL, unix.RT_TABLE_LOCAL),
		route(ns, "lo", "0.0.0.0/0", unix.RTN_LOCAL, 100), route(ns, "lo", "::/0", unix.RTN_LOCAL, 100), // as TPROXY has them
		route(ns, "eth9", "198.18.0.0/15", unix.RTN_UNICAST, unix.RT_TABLE_MAIN))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ReadLocal(); err != nil {
		t.Fatal(err)
	}
	judge := func(how string) {
		t.Helper()
		for addr, want := range map[string]bool{
			"93.184.216.10": true, "93.184.216.11": false, "::ffff:93.184.216.10": true, "151.101.1.20": true, "151.102.0.1": false, "127.0.0.1": true,
			"2001:db8:1::10": true, "2001:db8:1::11": false, "2001:db8:2:3::4": true, "2001:db8:3::1": false, "::1": true, "198.18.3.4": false,
		} {
			if n.Local(netip.MustParseAddr(addr)) != want {
				t.Errorf("%s: %s is local: %v", how, addr, !want)
			}
		}
	}
	judge("dumped")
	n.local.asks = true
	// The kernel's worker inserts an IPv6 address's route a moment after the address (addrconf_dad_completed).
	for late := time.Now().Add(5 * time.Second); !n.Local(netip.MustParseAddr("2001:db8:1::10")) && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	judge("asked")
	n.local.asks = false
	err = ns.Do(func() error {
		l, err := netlink.LinkByName("eth8")
		if err != nil {
			return err
		}
		return netlink.AddrDel(l, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(93, 184, 216, 10), Mask: net.CIDRMask(24, 32)}})
	})
	if err := errors.Join(err, s.ReadLocal()); err != nil || n.Local(netip.MustParseAddr("93.184.216.10")) {
		t.Errorf("an address that was taken away is local, %v", err)
	}
}

// TestLocalIsPerNamespace: what one namespace makes its own hides it from no other.
func TestLocalIsPerNamespace(t *testing.T) {
	needRoot(t, "it makes routes")
	one, _ := emptyHost(t)
	two, _ := emptyHost(t)
	s, err := OpenNamespaces(one.Path(), two.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := errors.Join(one.Up("lo"), route(one, "lo", "93.184.216.0/24", unix.RTN_LOCAL, unix.RT_TABLE_LOCAL), s.ReadLocal()); err != nil {
		t.Fatal(err)
	}
	local := 0
	for _, n := range s.All() {
		if n.Local(netip.MustParseAddr("93.184.216.7")) {
			local++
		}
	}
	if local != 1 {
		t.Errorf("local in %d of two namespaces", local)
	}
}

// TestHugeLocalTable: beyond maxLocal networks nothing is kept, and each address is asked for.
func TestHugeLocalTable(t *testing.T) {
	needRoot(t, "it makes routes")
	defer func(was int) { maxLocal = was }(maxLocal)
	maxLocal = 300
	ns, s := emptyHost(t)
	err := ns.Do(func() error {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		for i := 0; i <= maxLocal && err == nil; i++ {
			err = netlink.RouteAdd(&netlink.Route{LinkIndex: lo.Attrs().Index, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST,
				Dst: &net.IPNet{IP: net.IPv4(93, 0, byte(i>>8), byte(i)), Mask: net.CIDRMask(32, 32)}})
		}
		return err
	})
	if err := errors.Join(err, s.ReadLocal(), s.ReadLocal()); err != nil {
		t.Fatal(err)
	}
	n := s.All()[0]
	for addr, want := range map[string]bool{"93.0.0.0": true, "93.0.0.255": true, "93.0.1.44": true, "93.0.1.45": false} {
		if n.Local(netip.MustParseAddr(addr)) != want {
			t.Errorf("%s is local: %v", addr, !want)
		}
	}
	if len(n.local.nets) != 0 || !n.local.asks {
		t.Errorf("%d networks are kept", len(n.local.nets))
	}
	if err := n.Close(); err != nil || !n.Local(netip.MustParseAddr("93.0.1.45")) {
		t.Errorf("of a namespace that is gone: %v", err)
	}
	s.open = nil
}

func FuzzLocalNet(f *testing.F) {
	f.Add(uint16(unix.RTM_NEWADDR), []byte{2, 32, 0, 0, 1, 0, 0, 0, 8, 0, 2, 0, 192, 0, 2, 1})
	f.Add(uint16(unix.RTM_NEWROUTE), []byte{2, 24, 0, 0, 255, 0, 0, 2, 0, 0, 0, 0, 8, 0, 1, 0, 192, 0, 2, 0})
	f.Add(uint16(unix.RTM_NEWROUTE), []byte{10, 0, 0, 0, 255, 0, 0, 2, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, kind uint16, b []byte) {
		if p, ok := localNet(kind, b); ok && (!p.IsValid() || p != p.Masked()) {
			t.Fatalf("%v", p)
		}
	})
}

// BenchmarkReadLocal is what each poll takes for one namespace: three dumps.
func BenchmarkReadLocal(b *testing.B) {
	s, err := OpenNamespaces(Own)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		if err := s.ReadLocal(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(s.All()[0].local.nets)), "networks")
}

// BenchmarkLocal is one look-up, and one question to the kernel.
func BenchmarkLocal(b *testing.B) {
	s, err := OpenNamespaces(Own)
	if err == nil {
		err = s.ReadLocal()
	}
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	n, a := s.All()[0], netip.MustParseAddr("198.18.3.4")
	for _, asks := range []bool{false, true} {
		b.Run(map[bool]string{false: "dumped", true: "asked"}[asks], func(b *testing.B) {
			n.local.asks = asks
			for b.Loop() {
				n.Local(a)
			}
		})
	}
}
