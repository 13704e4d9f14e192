package ledger

import (
	"fmt"
	"net/netip"
	"strings"
	"unsafe"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

const testOffset = int64(1000e9) // Unix ns minus boot ns in tests: boot was at Unix second 1000

// life is one connection as the kernel would know it.
type life struct {
	ns, cookie  uint64
	state       uint8
	remote      netip.AddrPort
	local       netip.AddrPort
	cong        string
	n           counters
	rate        uint64
	limited     bool
	marked      bool
	mark        abi.Mark
	minRtt, rtt uint32
}

func newLife(ns, cookie uint64) *life {
	return &life{
		ns: ns, cookie: cookie, state: tcpEstablished, cong: "cubic",
		local:  netip.MustParseAddrPort("192.0.2.1:443"),
		remote: netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(cookie)}), uint16(10000+cookie)),
		minRtt: 20000, rtt: 30000,
	}
}

func markBytes(m *abi.Mark) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(m)), abi.MarkSize)...)
}

func (c *life) sock() *inetdiag.Sock {
	s := &inetdiag.Sock{
		Family: 2, State: c.state, Cookie: c.cookie, Local: c.local, Remote: c.remote,
		Has: inetdiag.HasInfo | inetdiag.HasCong, Cong: inetdiag.CongOf(c.cong),
		Info: inetdiag.TCPInfo{
			State: c.state, BytesAcked: c.n[acked], BytesSent: c.n[sent], BytesRetrans: c.n[retrans], BytesReceived: c.n[received],
			BusyTimeUs: c.n[busyUs], RwndLimitedUs: c.n[rwndUs], SndbufLimitedUs: c.n[sndbufUs],
			DeliveryRate: c.rate, DeliveryRateAppLimited: c.limited, MinRttUs: c.minRtt, RttUs: c.rtt, Len: 232,
		},
	}
	if c.marked {
		s.Has |= inetdiag.HasStorage
		s.Storage = markBytes(&c.mark)
	}
	return s
}

func (c *life) close(atNs int64) *abi.Close {
	r := &abi.Close{
		Cookie: c.cookie, Netns: c.ns, AtNs: uint64(atNs - testOffset), OldState: c.state,
		Local: c.local.Addr().As16(), Remote: c.remote.Addr().As16(), LocalPort: c.local.Port(), RemotePort: c.remote.Port(),
		Cong: inetdiag.CongOf(c.cong), Mark: c.mark,
		BytesAcked: c.n[acked], BytesSent: c.n[sent], BytesRetrans: c.n[retrans], BytesReceived: c.n[received],
		BusyUs: c.n[busyUs], RwndLimitedUs: c.n[rwndUs], SndbufLimitedUs: c.n[sndbufUs],
		DeliveryRate: c.rate, MinRttUs: c.minRtt, SrttUs: c.rtt,
	}
	if c.limited {
		r.AppLimited = 1
	}
	return r
}

// turn starts or ends counting, as bpf/count.h does.
func (c *life) turn() {
	m := &c.mark
	m.Flags ^= abi.MarkCounting
	m.CountedAcked, m.CountedSent = c.n[acked]-m.CountedAcked, c.n[sent]-m.CountedSent
	m.CountedRetrans, m.CountedBusyUs = c.n[retrans]-m.CountedRetrans, c.n[busyUs]-m.CountedBusyUs
}

func showConn(r *record.Conn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "conn %d window=%d end=%s at=%g", r.Cookie, r.Window, r.End, float64(r.AtNs)/1e9)
	for _, f := range []struct {
		on   bool
		name string
	}{{r.Passive, "passive"}, {r.ClientFacing, "client"}, {r.PreStart, "pre-start"}, {r.MPTCP, "mptcp"},
		{r.DefaultCong, "default"}, {r.Carryover, "carryover"}, {r.Capped, "capped"}, {r.InfoFromClose, "info-from-close"}} {
		if f.on {
			b.WriteByte(' ')
			b.WriteString(f.name)
		}
	}
	fmt.Fprintf(&b, "\n  prefix=%s cong=%s assigned=%s applied=%s plan=%d crossings=%d", r.Prefix, r.Cong, r.Assigned, r.Applied, r.Plan, r.Crossings)
	fmt.Fprintf(&b, "\n  win: acked=%d sent=%d retrans=%d received=%d elapsed=%gs busy=%gs rate=%g (%s, %d+%d samples)",
		r.WinBytesAcked, r.WinBytesSent, r.WinBytesRetrans, r.WinBytesReceived, float64(r.WinElapsedUs)/1e6, float64(r.WinBusyUs)/1e6,
		r.RateBytesPerS, [...]string{"none", "mean", "last"}[r.RateSource], r.WinRateSamples, r.WinLimitedSamples)
	if r.WinCountedBytesSent > 0 {
		fmt.Fprintf(&b, "\n  counted: acked=%d sent=%d retrans=%d busy=%gs", r.WinCountedBytesAcked, r.WinCountedBytesSent,
			r.WinCountedBytesRetrans, float64(r.WinCountedBusyUs)/1e6)
	}
	if r.WinLateSamples > 0 || r.WinEpisodes > 0 {
		fmt.Fprintf(&b, "\n  late: rate=%g (%d samples) episodes=%d", r.LateBytesPerS, r.WinLateSamples, r.WinEpisodes)
	}
	fmt.Fprintf(&b, "\n  life: acked=%d len=%d\n", r.Info.BytesAcked, r.Info.Len)
	return b.String()
}
