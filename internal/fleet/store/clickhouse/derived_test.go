package clickhouse

import (
	"math"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestDerived: what follows from other columns comes back also at the ends of their ranges.
func TestDerived(t *testing.T) { derived(t, newStore(t)) }

func derived(t *testing.T, s *Store) {
	want := oddConns()
	insert(t, s, batchtest.New(t, header(1, 1), want...))
	if d := cmp.Diff(want, read(t, s, oddPoP, windowStart), sameAddr); d != "" {
		t.Errorf("records (-want +got):\n%.2000s", d)
	}
}

// oddConns have what is at the ends of ranges.
func oddConns() (list []record.Conn) {
	times := []int64{0, 1, -1, windowStart * 1e9, math.MaxInt64, math.MinInt64}
	counts := []uint64{0, 1, 1 << 63, math.MaxUint64}
	for _, at := range times {
		for _, crossed := range times {
			list = append(list, record.Conn{Window: windowStart, AtNs: at, CrossedNs: crossed, SwitchedNs: at}, record.Conn{Window: windowStart, AtNs: at, CrossedNs: crossed, WinCountedBusyUs: uint64(at) / 1001})
		}
	}
	for _, sent := range counts {
		for _, acked := range counts {
			c := record.Conn{Window: windowStart, WinBytesSent: sent, WinBytesAcked: acked, WinBytesRetrans: sent / 3}
			c.Info.BytesAcked, c.Info.SegsOut, c.Info.Delivered, c.Info.TotalRetrans = acked, uint32(sent), uint32(acked>>32), uint32(acked)
			c.WinBusyUs, c.WinElapsedUs, c.WinCountedBusyUs, c.Info.BusyTimeUs, c.Info.Lost = sent, acked, acked/7, sent-acked, uint32(sent)
			list = append(list, c)
		}
	}
	for _, cwnd := range []uint32{0, 1, 10, noThreshold, math.MaxUint32} {
		for _, threshold := range []uint32{0, 1, 2, 10, 11, 12, noThreshold - 1, noThreshold, noThreshold + 1, math.MaxUint32} {
			c := record.Conn{Window: windowStart}
			c.Info.SndCwnd, c.Info.SndSsthresh = cwnd, threshold
			list = append(list, c)
		}
	}
	for _, rate := range []float64{0, 1, -1, 1. / 3, 2e6 / 7., 100000.5, 1 << 53, 1e300, math.Inf(1), math.SmallestNonzeroFloat64} {
		for _, n := range []uint32{0, 1, 7, math.MaxUint32} {
			list = append(list, record.Conn{Window: windowStart, RateBytesPerS: rate, WinRateSamples: n})
		}
	}
	for _, network := range []string{"0.0.1.0", "1.0.0.0", "203.0.113.0", "0:1::", "2001:db8:0:ab00::"} {
		own := netip.MustParseAddr(network)
		p, _ := record.PrefixOf(own)
		for _, a := range []netip.Addr{{}, own, own.Next(), netip.IPv4Unspecified()} {
			for _, p := range []record.Prefix{0, p} {
				list = append(list, record.Conn{Window: windowStart, Prefix: p, Remote: netip.AddrPortFrom(a, uint16(len(list)))})
			}
		}
	}
	return list
}
