package ledger

import (
	"net/netip"

	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/record"
)

// emitSight emits at a final poll, with all that the dump said.
func (l *Ledger) emitSight(ns *netns, e *entry, s *inetdiag.Sock) {
	l.fill(ns, e, record.EndWindow, l.poll.atNs)
	l.rec.Info = s.Info
	l.rec.HasBBR = s.Has&inetdiag.HasBBR != 0
	if l.rec.HasBBR {
		l.rec.BBR = s.BBR
	}
	l.send(e, true)
}

// emitClose emits the last record of a connection.
func (l *Ledger) emitClose(ns *netns, e *entry, c *abi.Close) {
	l.fill(ns, e, record.EndClose, int64(c.AtNs)+l.off)
	l.rec.Info, l.rec.InfoFromClose = infoOfClose(c), true
	l.send(e, false)
}

// emitKept emits from the entry alone: Info has the counters and times that the
// entry keeps, and Len 0.
func (l *Ledger) emitKept(ns *netns, e *entry, end record.End) {
	l.fill(ns, e, end, int64(e.lastNs)+l.off)
	l.rec.Info = inetdiag.TCPInfo{
		BytesAcked: e.last[acked], BytesSent: e.last[sent], BytesRetrans: e.last[retrans], BytesReceived: e.last[received],
		BusyTimeUs: e.last[busyUs], RwndLimitedUs: e.last[rwndUs], SndbufLimitedUs: e.last[sndbufUs],
		MinRttUs: e.minRttUs, RttUs: e.srttUs,
	}
	l.send(e, false)
}

// send hands the record out and opens the entry's next window.
func (l *Ledger) send(e *entry, wasCut bool) {
	l.st.Emitted[l.rec.End]++
	e.nextWindow(wasCut)
	l.cfg.Emit(&l.rec)
}

// fill sets everything but Info and BBR.
func (l *Ledger) fill(ns *netns, e *entry, end record.End, atNs int64) {
	l.rec = record.Conn{
		Netns: ns.id, Cookie: record.Cookie(e.cookie), Window: l.windowStart(e.win), AtNs: atNs, End: end,
		Local: addrPort(e.local, e.localPort), Remote: addrPort(e.remote, e.remotePort),
		Passive: e.is(passive), PreStart: e.is(preStart), MPTCP: e.is(mptcp),
		Cong: l.congs.name(e.cong), DefaultCong: l.congs.packed(e.cong) == ns.defaultCong,
		Plan: record.PlanID(e.plan), Crossings: e.crossings,
		CrossedNs: l.unixNs(e.crossedNs), SwitchedNs: l.unixNs(e.switchedNs),
		WinBytesAcked: e.winBytes[acked], WinBytesSent: e.winBytes[sent],
		WinBytesRetrans: e.winBytes[retrans], WinBytesReceived: e.winBytes[received],
		WinElapsedUs: uint64(e.winUs[elapsedUs]), WinBusyUs: uint64(e.winUs[busyUs-nBytes]),
		WinRwndLimitedUs: uint64(e.winUs[rwndUs-nBytes]), WinSndbufUs: uint64(e.winUs[sndbufUs-nBytes]),
		WinRateSamples: e.winRateN, WinLimitedSamples: e.winLimitN,
	}
	r := &l.rec
	r.Prefix, _ = record.PrefixOf(r.Remote.Addr())
	r.ClientFacing = e.is(passive) && (l.cfg.ClientFacing == nil || l.cfg.ClientFacing(r.Netns, r.Local, r.Remote, r.Passive))
	r.RateBytesPerS, r.RateSource = e.windowRate()
	l.fillArms(r, e)
}

// windowRate is the mean of the window's path-limited samples, one a round trip;
// without any, the kernel's last such sample.
func (e *entry) windowRate() (float64, record.RateSource) {
	switch {
	case e.winRateN > 0:
		return float64(e.winRateSum) / float64(e.winRateN), record.RateMean
	case e.rate > 0:
		return float64(e.rate), record.RateLast
	}
	return 0, record.RateNone
}

func addrPort(a [16]byte, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(a).Unmap(), port)
}

// unixNs turns boot time into Unix time with the offset of the moment; never stays 0.
func (l *Ledger) unixNs(bootNs uint64) int64 {
	if bootNs == 0 {
		return 0
	}
	return int64(bootNs) + l.off
}
