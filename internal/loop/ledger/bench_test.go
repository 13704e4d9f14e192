package ledger

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"
	"unsafe"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

const benchConns = 100000

// benchDump runs one dump of n sockets, one Sock reused as the decoder does.
func benchDump(l *Ledger, n int, at int64, final bool, s *inetdiag.Sock, m *abi.Mark) {
	l.BeginPoll(Poll{Netns: 1, AtNs: at, BootNs: at, DefaultCong: inetdiag.CongOf("cubic"), Final: final, Window: at / 300e9 * 300})
	for i := range n {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], 0xcb000000+uint32(i))
		s.Cookie, s.Remote = uint64(i+1), netip.AddrPortFrom(netip.AddrFrom4(a), 4000)
		s.Info.BytesAcked = uint64(at)
		m.RateN++
		m.RateSum += 1000
		l.Sock(s)
	}
	l.EndPoll(true)
}

func benchSock() (*inetdiag.Sock, *abi.Mark) {
	c := newLife(1, 1)
	c.marked, c.mark.EstablishedNs = true, 1e9
	s := c.sock()
	m := &abi.Mark{EstablishedNs: 1e9}
	s.Storage = unsafe.Slice((*byte)(unsafe.Pointer(m)), abi.MarkSize)
	return s, m
}

func benchPoll(b *testing.B, final bool) {
	l := ledgerOf(Config{Emit: func(*record.Conn) {}})
	s, m := benchSock()
	at := int64(300e9)
	benchDump(l, benchConns, at, false, s, m)
	b.ReportAllocs()
	for b.Loop() {
		at += 10e9
		if final {
			at += 290e9
		}
		benchDump(l, benchConns, at, final, s, m)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchConns, "ns/socket")
}

func BenchmarkPoll100k(b *testing.B)      { benchPoll(b, false) }
func BenchmarkFinalPoll100k(b *testing.B) { benchPoll(b, true) }

// BenchmarkCloseAlone is a connection that no poll saw.
func BenchmarkCloseAlone(b *testing.B) {
	l := ledgerOf(Config{})
	c := newLife(1, 1).close(testOffset + 1e9)
	b.ReportAllocs()
	for b.Loop() {
		c.Cookie++
		c.AtNs += 20000
		if c.Cookie%5000 == 0 {
			l.BeginPoll(Poll{Netns: 1, AtNs: int64(c.AtNs), BootNs: int64(c.AtNs), DefaultCong: inetdiag.CongOf("cubic")})
			l.EndPoll(false)
		}
		l.Close(c, testOffset)
	}
}

// BenchmarkMemory reports what an entry costs with its index.
func BenchmarkMemory(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := ledgerOf(Config{})
		s, m := benchSock()
		benchDump(l, benchConns, 300e9, false, s, m)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/benchConns, "B/entry")
		runtime.KeepAlive(l)
	}
}
