package accesslog

import (
	"net/netip"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

func BenchmarkDecode(b *testing.B) {
	for format, line := range map[Format]string{
		NginxJSON: `{"msec":"1795303652.419","request_time":"1.200","remote_addr":"203.0.113.7","remote_port":"45690","server_addr":"192.0.2.1","server_port":"443","host":"www.example","server_protocol":"HTTP/1.1","bytes_sent":"300244","body_bytes_sent":"300000","connection":"1","connection_requests":"1"}`,
		Apache:    `203.0.113.7 - - [21/Nov/2026:23:27:57 +0000] "GET /big HTTP/1.1" 200 300000 "-" "curl/7.88.1" 48004 192.0.2.1 80 www.example 300244 0 1795303677095981 315 132`,
	} {
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := format.Decode(1, []byte(line)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWindow is a window of 20,000 connections with three responses each.
func BenchmarkWindow(b *testing.B) {
	const conns = 20_000
	b.ReportAllocs()
	for b.Loop() {
		m := NewMatcher(MatchConfig{WindowSeconds: testWindow, MinBytes: testMin})
		for i := range conns {
			client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)}), 4000)
			c := record.Conn{Netns: 1, Cookie: record.Cookie(i), Window: morning, ClientFacing: true, Remote: client, Local: netip.MustParseAddrPort("192.0.2.1:443")}
			c.Prefix, _ = record.PrefixOf(client.Addr())
			m.Conn(&c)
			for n := range int64(3) {
				at := int64(morning)*1e6 + n*60e6
				m.Response(Response{Client: client, Server: c.Local, StartUs: at, EndUs: at + 1e6, BodyBytes: 300_000})
			}
		}
		out, _ := m.Settle(morning)
		if len(out) != 3*conns {
			b.Fatalf("%d matched", len(out))
		}
	}
}
