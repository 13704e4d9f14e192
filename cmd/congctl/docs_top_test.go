package main

import (
	"net/netip"

	"github.com/congctl/congctl/internal/loop/sockets"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// docsSockets are the connections of the imagined edge.
func docsSockets(netns string, _ []uint, _ inetdiag.Ext) (sockets.Source, func() error, error) {
	return func(visit func(string, *inetdiag.Sock)) error {
		for i, cong := range []string{"bbr", "cubic", "cubic"} {
			s := inetdiag.Sock{
				Family: inetdiag.FamilyInet, State: inetdiag.StateEstablished, Cookie: uint64(i + 1), Has: inetdiag.HasCong | inetdiag.HasInfo,
				Local: netip.MustParseAddrPort("192.0.2.10:443"), Remote: netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), 40_000),
				Info: inetdiag.TCPInfo{Len: 248, RttUs: 40_000, BytesAcked: 3_000_000, BytesSent: 3_100_000, BytesRetrans: uint64(i) * 30_000},
			}
			copy(s.Cong[:], cong)
			visit(netns, &s)
		}
		return nil
	}, func() error { return nil }, nil
}
