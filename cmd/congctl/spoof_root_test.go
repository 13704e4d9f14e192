package main

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestSpoofedAddresses sends the first packet of a handshake from 20,000 addresses of 200 networks that
// do not answer. congctl has none of them: one real client beside them is all that it stores.
func TestSpoofedAddresses(t *testing.T) {
	e := newEdge(t, quickSettings())
	lo, err := netlink.LinkByName("lo")
	check(t, err)
	spoofed := &netlink.Route{LinkIndex: lo.Attrs().Index, Scope: unix.RT_SCOPE_LINK, Dst: &net.IPNet{IP: net.IPv4(100, 200, 0, 0), Mask: net.CIDRMask(16, 32)}}
	check(t, netlink.RouteAdd(spoofed)) // the answers leave, and no host has these addresses
	t.Cleanup(func() { check(t, netlink.RouteDel(spoofed)) })
	e.start()
	s := newServer(t)
	to := s.at[true]
	raw, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW)
	check(t, err)
	defer unix.Close(raw)
	most := 0
	for i := range 20_000 {
		from := netip.AddrFrom4([4]byte{100, 200, byte(i / 100), byte(1 + i%100)})
		check(t, unix.Sendto(raw, synFrom(from, to), 0, &unix.SockaddrInet4{Addr: to.Addr().As4()}))
		if i%1000 == 999 {
			most = max(most, halfOpen(t))
		}
	}
	s.transfer(client(0, 1), large)
	eventually(t, "a row of the real client", patience, func() bool { return len(e.rows()) > 0 })
	s.close()
	e.stop()
	for _, r := range e.rows() {
		if r.Prefix != prefixOf(t, client(0, 1)) {
			t.Errorf("a row of %s: %+v", r.Prefix, r)
		}
	}
	for _, c := range e.records() {
		if c.Passive && c.Prefix != prefixOf(t, client(0, 1)) {
			t.Errorf("a record of %s", c.Remote)
		}
	}
	t.Logf("%d half-open at once", most)
	if most < 50 {
		t.Errorf("%d half-open connections at once: the flood did not arrive", most)
	}
}

// halfOpen counts the connections that wait for the end of their handshake.
func halfOpen(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/thread-self/net/tcp")
	check(t, err)
	return strings.Count(string(b), " 03 ")
}

// synFrom is the first packet of a handshake, with its IPv4 header.
func synFrom(from netip.Addr, to netip.AddrPort) []byte {
	const header, segment = 20, 20
	b := make([]byte, header+segment)
	b[0], b[8], b[9] = 0x45, 64, unix.IPPROTO_TCP // the kernel fills in length and checksum
	src, dst := from.As4(), to.Addr().As4()
	copy(b[12:], src[:])
	copy(b[16:], dst[:])
	tcp := b[header:]
	binary.BigEndian.PutUint16(tcp, 4000)
	binary.BigEndian.PutUint16(tcp[2:], to.Port())
	tcp[12], tcp[13] = segment/4<<4, 2 // SYN
	binary.BigEndian.PutUint16(tcp[14:], 65535)
	sum := uint32(unix.IPPROTO_TCP + segment)
	for i := 12; i < len(b); i += 2 { // addresses and segment
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 > 0 {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(tcp[16:], ^uint16(sum))
	return b
}
