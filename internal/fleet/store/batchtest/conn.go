package batchtest

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Client is the record of a client's download in a window (its start, Unix seconds).
func Client(rng *rand.Rand, window int64) record.Conn {
	acked := uint64(math.Exp(11 + 2*rng.NormFloat64())) // about 60 kB, few of 10 MB
	lost := acked * rng.Uint64N(40) / 1000
	rtt := uint32(8000 + 60_000*rng.ExpFloat64()*0.5)
	rate := float64(acked)/(0.3+rng.ExpFloat64()) + 20_000
	busyUs := uint64(float64(acked) / rate * 1e6)
	segs := uint32(acked/1448) + 4
	at := window*1e9 + int64(rng.Uint64N(300e9))
	remote := netip.AddrFrom4([4]byte{203, byte(rng.IntN(4)), byte(rng.IntN(256)), 0})
	prefix, _ := record.PrefixOf(remote)
	c := record.Conn{
		Netns: 1, Cookie: record.Cookie(0x300000 + rng.Uint64N(1<<20)), Window: window, AtNs: at, End: record.End(rng.IntN(2)),
		Local: netip.MustParseAddrPort("198.51.100.1:443"), Remote: netip.AddrPortFrom(remote, 0), Prefix: prefix,
		Passive: true, ClientFacing: true, Cong: "cubic", DefaultCong: true,
		WinBytesAcked: acked, WinBytesSent: acked + lost, WinBytesRetrans: lost, WinBytesReceived: 300 + rng.Uint64N(3000),
		WinElapsedUs: busyUs * 3, WinBusyUs: busyUs,
		Info: inetdiag.TCPInfo{State: 1, Options: 7, SndWscale: 7, RcvWscale: 7, RtoUs: 200_000 + rtt, AtoUs: 40_000, SndMss: 1448, RcvMss: 536,
			LastDataSentMs: rng.Uint32N(5000), LastAckSentMs: rng.Uint32N(9000), LastDataRecvMs: rng.Uint32N(9000), LastAckRecvMs: rng.Uint32N(5000),
			Pmtu: 1500, RcvSsthresh: 64_076, RttUs: rtt, RttvarUs: rtt / (4 + rng.Uint32N(9)), SndSsthresh: 10 + rng.Uint32N(60), SndCwnd: 10 + rng.Uint32N(90),
			Advmss: 1448, Reordering: 3, RcvSpace: 14_600, TotalRetrans: uint32(lost / 1448), PacingRate: uint64(1.2 * rate), MaxPacingRate: math.MaxUint64,
			BytesAcked: acked + 1, BytesReceived: 300 + rng.Uint64N(3000), SegsOut: segs, SegsIn: segs/2 + rng.Uint32N(9), MinRttUs: rtt - rng.Uint32N(rtt/3),
			DataSegsIn: 1 + rng.Uint32N(9), DataSegsOut: segs, DeliveryRate: uint64(rate), BusyTimeUs: busyUs, Delivered: segs,
			BytesSent: acked + lost, BytesRetrans: lost, SndWnd: 65_536 + rng.Uint32N(1<<20), RcvWnd: 65_535, Len: 248},
	}
	if acked > 100_000 { // it crossed the threshold: the rate is of the path, and it counts
		c.RateBytesPerS, c.RateSource, c.WinRateSamples = rate, record.RateMean, segs/10
		c.Assigned, c.Applied, c.Plan, c.Crossings, c.CrossedNs = record.ArmControl, record.AppliedControl, 412, 1, at-int64(rng.Uint64N(1e9))
		c.WinCountedBytesAcked, c.WinCountedBytesSent, c.WinCountedBusyUs = acked-100_000, acked+lost-100_000, busyUs/2
	}
	return c
}

// Random is any record, each scalar over its whole range and a fifth of them zero, with a window of
// the list.
func Random(rng *rand.Rand, windows ...int64) (c record.Conn) {
	scalars(rng, reflect.ValueOf(&c).Elem())
	c.End, c.RateSource = record.End(rng.IntN(3)), record.RateSource(rng.IntN(3))
	c.Assigned, c.Applied = record.Arm(rng.IntN(6)), record.Applied(rng.IntN(12))
	c.Info.Len &= math.MaxInt32
	c.Cong = []string{"", "cubic", "bbr", "it's \\ \"", "größe"}[rng.IntN(5)]
	c.Local, c.Remote = address(rng), address(rng)
	c.Prefix, _ = record.PrefixOf(address(rng).Addr())
	c.Window = windows[rng.IntN(len(windows))]
	return c
}

func scalars(rng *rand.Rand, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		bits := rng.Uint64() >> rng.IntN(64)
		if rng.IntN(5) == 0 {
			bits = 0
		}
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(bits&1 == 1)
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			f.SetUint(bits & (math.MaxUint64 >> (64 - f.Type().Bits())))
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(bits))
		case reflect.Float64:
			f.SetFloat(rng.NormFloat64() * 1e6)
		case reflect.Struct:
			if f.Type() != reflect.TypeFor[netip.AddrPort]() {
				scalars(rng, f)
			}
		}
	}
}

func address(rng *rand.Rand) netip.AddrPort {
	var b [16]byte
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	addr := []netip.Addr{{}, netip.AddrFrom16(b), netip.AddrFrom4([4]byte(b[:4])), netip.IPv6Unspecified()}[rng.IntN(4)]
	return netip.AddrPortFrom(addr, uint16(rng.Uint32()))
}
