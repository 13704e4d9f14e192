package record

import (
	"net/netip"
	"testing"
)

func connOf(addr netip.Addr) *Conn {
	p, _ := PrefixOf(addr)
	return &Conn{Remote: netip.AddrPortFrom(addr, 1), Prefix: p}
}

// TestClientNumbers: the clients of a network stay as many as they are, other networks and keys have
// other numbers, and two hosts with one key agree.
func TestClientNumbers(t *testing.T) {
	one, again, other := NewClientNumbers([]byte("one")), NewClientNumbers([]byte("one")), NewClientNumbers([]byte("other"))
	for _, network := range []func(i byte) netip.Addr{
		func(i byte) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, 113, i}) },
		func(i byte) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 0, 0, i, 15: 1})
		},
	} {
		seen := map[uint8]bool{}
		same := 0
		for i := range 256 {
			c := connOf(network(byte(i)))
			if got := c.ClientNumber(); got != uint8(i) {
				t.Fatalf("%s: number %d", c.Remote, got)
			}
			kept := Conn{Prefix: c.Prefix, Client: one.Of(c)}
			seen[kept.ClientNumber()] = true
			if kept.Client != again.Of(c) {
				t.Errorf("%s: %d and %d by one key", c.Remote, kept.Client, again.Of(c))
			}
			if kept.Client == other.Of(c) || kept.Client == 1+uint16(i) {
				same++
			}
		}
		if len(seen) != 256 || same > 16 { // 2 are to be expected
			t.Errorf("%d numbers for 256 clients, %d as by another key or by none", len(seen), same)
		}
	}
}

// TestKnownNetworkShowsNoOther: who has all clients of one network and one of another does not know the others there. One
// permutation for all networks, moved by a number a network, is undone by that.
func TestKnownNetworkShowsNoOther(t *testing.T) {
	of := func(n *ClientNumbers, third, last byte) uint16 {
		return n.Of(connOf(netip.AddrFrom4([4]byte{203, 0, third, last}))) - 1
	}
	for key := range byte(8) {
		n := NewClientNumbers([]byte{key})
		var known [256]byte // address by number, in the network of the one that asks
		for last := range 256 {
			known[of(n, 113, byte(last))] = byte(last)
		}
		moved := known[of(n, 114, 77)] ^ 77
		right := 0
		for last := range 256 {
			if known[of(n, 114, byte(last))]^moved == byte(last) {
				right++
			}
		}
		if right > 16 { // 2 are to be expected
			t.Errorf("key %d: %d of 256 clients are found", key, right)
		}
	}
}

func BenchmarkClientNumbers(b *testing.B) {
	n, c := NewClientNumbers([]byte("key")), connOf(netip.AddrFrom4([4]byte{203, 0, 113, 9}))
	for b.Loop() {
		n.Of(c)
	}
}
