package main

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/tcp/record"
)

// All traffic stays on the loopback of the tests' own namespace. Whole client
// networks are local there, so a client may have any of their addresses. A
// 1500-byte MTU and a tbf make a response of some 100 kB last several round trips.
const (
	tbfRate  = 25_000_000 // bytes/s: 200 Mbit/s
	tbfLimit = 4_000_000  // bytes: nothing is dropped, the queue only grows
	networks = 200        // of each family
)

// allowLoopback makes them clients, which a host's own addresses are not.
const allowLoopback = `allow: [198.18.0.0/15, "2001:db8::/40"]`

var prepareLoopback = sync.OnceValue(layLoopback)

// layLoopback prepares the loopback of the calling thread's namespace.
func layLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return netlink.LinkSetMTU(lo, 1500) },
		func() error { return netlink.LinkSetUp(lo) },
		func() error { return os.WriteFile("/proc/sys/net/ipv4/tcp_no_metrics_save", []byte("1"), 0) },
		func() error { return os.WriteFile("/proc/sys/net/ipv6/ip_nonlocal_bind", []byte("1"), 0) },
		func() error { return localNetwork(lo, netip.PrefixFrom(netns.EdgeAddr4, 32)) },
		func() error { return localNetwork(lo, netip.PrefixFrom(netns.EdgeAddr6, 128)) },
		func() error { return setTbf(lo, tbfRate) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	for i := range networks {
		if err := localNetwork(lo, clientNet4(i)); err != nil {
			return err
		}
		if err := localNetwork(lo, clientNet6(i)); err != nil {
			return err
		}
	}
	return nil
}

func localNetwork(lo netlink.Link, p netip.Prefix) error {
	return netlink.RouteReplace(&netlink.Route{
		LinkIndex: lo.Attrs().Index, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: unix.RT_SCOPE_HOST,
		Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())},
	})
}

func setTbf(lo netlink.Link, rate uint64) error {
	return netlink.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       rate,
		Buffer:     netlink.Xmittime(rate, 20_000), // bytes of burst, in ticks
		Limit:      tbfLimit,
	})
}

// clientNet4 is the i-th /24 of 198.18.0.0/15, the range for benchmarks (RFC 2544):
// public-looking, and unassigned. i is below 512.
func clientNet4(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + i>>8), byte(i), 0}), 24)
}

// clientNet6 is the i-th /56 of 2001:db8::/40, for documentation (RFC 3849). i is below
// 65536.
func clientNet6(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, byte(i >> 8), byte(i)}), 56)
}

// The generated networks must be what the product calls client prefixes, all distinct.
func TestClientNets(t *testing.T) {
	seen := map[record.Prefix]bool{}
	for i := range 300 {
		for _, n := range []netip.Prefix{clientNet4(i), clientNet6(i)} {
			p, err := record.ParsePrefix(n.String())
			if err != nil || seen[p] {
				t.Fatalf("%d: %v, seen %v, %v", i, n, seen[p], err)
			}
			seen[p] = true
		}
	}
	if got := clientNet4(256).String(); got != "198.19.0.0/24" {
		t.Errorf("got %s", got)
	}
}

// client is the n-th address (from 1) of the i-th client network; from `networks`
// on they are IPv6.
func client(i, n int) netip.Addr {
	p := clientNet4(i % networks)
	if i >= networks {
		p = clientNet6(i % networks)
	}
	return nthAddr(p, n)
}

func nthAddr(p netip.Prefix, n int) netip.Addr {
	b := p.Addr().AsSlice()
	b[len(b)-1] = byte(n)
	a, _ := netip.AddrFromSlice(b)
	return a
}

const wide4 = 512 // networks of wideClient that are IPv4: all of their range

// wideNetworks makes the ranges of all client networks local. They stay: nothing else uses them.
func wideNetworks() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return errors.Join(localNetwork(lo, netip.PrefixFrom(clientNet4(0).Addr(), 15)), localNetwork(lo, netip.PrefixFrom(clientNet6(0).Addr(), 40)))
}

// wideClient is the n-th address of the i-th of up to 66,000 networks, the first of which are IPv4.
func wideClient(i, n int) netip.Addr {
	if i < wide4 {
		return nthAddr(clientNet4(i), n)
	}
	return nthAddr(clientNet6(i-wide4), n)
}

func prefixOf(t testing.TB, a netip.Addr) record.Prefix {
	t.Helper()
	p, ok := record.PrefixOf(a)
	if !ok {
		t.Fatalf("%s has no prefix", a)
	}
	return p
}
