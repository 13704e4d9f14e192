package ledger

import (
	"net/netip"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// emitSight emits at a final poll, with everything from the dump.
func (l *Ledger) emitSight(ns *netns, e *entry, s *inetdiag.Sock) {
	l.fill(ns, e, record.EndWindow, l.poll.AtNs)
	l.rec.Info = s.Info
	l.rec.HasBBR = s.Has&inetdiag.HasBBR != 0
	if l.rec.HasBBR {
		l.rec.BBR = s.BBR
	}
	l.send(e, true)
}

// emitKept emits from the entry alone: Info has the counters and times that the entry keeps,
// and Len 0.
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

// nextWindow forgets the window whose record is out.
func (e *entry) nextWindow(wasCut bool) {
	e.win++
	e.flags &^= observed
	e.set(cut, wasCut)
	e.winBytes = [nBytes]uint64{}
	e.winUs = [nTimes]uint32{}
	e.winRateSum, e.winRateN, e.winLimitN, e.rate = 0, 0, 0, 0
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

// unixNs converts boot time to Unix time with the present offset; 0 (never) stays 0.
func (l *Ledger) unixNs(bootNs uint64) int64 {
	if bootNs == 0 {
		return 0
	}
	return int64(bootNs) + l.off
}

// Which arm does a record carry? The one in force when the last response crossed the
// threshold; without a crossing since its window began, the prefix's arm in the window. (A
// late final poll shows crossings from after the window's end, maybe in the next block: the
// treatment was applied there, so the arm must be that block's too, or the record
// contradicts itself.) The kernel reports the former except in two cases: past the end of its
// map value it reports unknown, and it has no entry for prefixes that are never treated. Both
// are recomputed: arms are a function of (prefix, block, salt).
//
// Applied belongs to that crossing. Without one since the window began, nothing was applied
// in this window's arm; but a connection on the treatment counts as treated, whenever it was
// switched.
//
// If no eBPF follows connections (Config.Unfollowed) the congestion control decides: a
// connection on its namespace's default was not treated, and is in the prefix's arm of the
// window; any other may be either.

// Which block does a connection count in? The one in which it first crossed the threshold,
// whatever its arm was there or is now; in every later one its record is a carry-over. (In a
// block in which it has not crossed yet it counts, too.) This is the only rule on what outlives
// a block: rows, effects, hold-out, A/A and goodput all read Carryover.
//
// The first crossing, not the last one: a connection that was switched stays on the treatment,
// so what it brings into a control block cannot count there. Were those left out alone, the
// treatment arm would have the old connections and the control arm only fresh ones, and the
// difference between old and fresh would pass for an effect. The first crossing comes before
// any treatment, so leaving out by it takes the same connections from both arms.

// settleIn notes when an entry first crossed, once m shows a crossing; m is nil without a mark.
// Without eBPF no crossing is known, and the first sight stands for it: a route treats a
// connection from there on, and a pre-start one may have crossed at any time before.
func (l *Ledger) settleIn(e *entry, m *abi.Mark) {
	// Without a mark the middle of the window: its start may be a block's border, which a step
	// of less than a second would cross.
	at := l.windowStart(e.win) + l.cfg.WindowSeconds/2
	switch {
	case e.home != 0 || m == nil && e.is(marked) || m != nil && m.Crossings == 0:
		return
	case m != nil && m.Crossings == 1:
		at = l.unixNs(m.CrossedNs) / 1e9
	case m != nil: // the mark has the time of the last one; the first came after the last observation
		at = l.unixNs(min(e.lastNs, m.CrossedNs)) / 1e9
	}
	// In boot time, so that a step of the wall clock moves it along; whole seconds of the wall
	// clock, so that none falls to the wrong side of a block's border.
	e.home = uint32(max(1, at-l.off/1e9))
}

// carried reports whether a time (Unix seconds) lies in another block than the entry's own.
func (l *Ledger) carried(e *entry, unix int64) bool {
	return e.is(passive) && e.home != 0 && l.block(unix) != l.block(int64(e.home)+l.off/1e9)
}

// fillArms sets Assigned, Applied and Carryover.
func (l *Ledger) fillArms(r *record.Conn, e *entry) {
	r.Carryover = l.carried(e, max(r.Window, r.CrossedNs/1e9))
	switch {
	case !e.is(passive): // our own outgoing connections are in no plan
	case e.is(marked):
		r.Assigned, r.Applied = l.assigned(r, e.assigned), e.applied
		if r.CrossedNs/1e9 < r.Window && !e.is(switched) {
			r.Applied = record.AppliedNone
		}
	case e.is(foreign):
		r.Assigned, r.Applied = record.ArmUnknown, record.AppliedUnknown
	case e.is(preStart): // on the default, and eBPF cannot move it: as if in no plan
	case l.cfg.Unfollowed && r.DefaultCong:
		r.Assigned = l.armAt(r.Prefix, r.Window)
		if r.Assigned == record.ArmControl {
			r.Applied = record.AppliedControl
		}
	case l.cfg.Unfollowed: // a route's treatment, or its application's own choice
		r.Assigned, r.Applied = record.ArmUnknown, record.AppliedUnknown
	default:
		r.Assigned, r.Applied = l.armAt(r.Prefix, r.Window), record.AppliedUnknown
	}
}

func (l *Ledger) assigned(r *record.Conn, kernel record.Arm) record.Arm {
	at := r.CrossedNs / 1e9
	if at < r.Window {
		return l.armAt(r.Prefix, r.Window)
	}
	if kernel != record.ArmUnknown && kernel != record.ArmNone {
		return kernel
	}
	arm := l.armAt(r.Prefix, at)
	if kernel == record.ArmUnknown || arm == record.ArmHoldout || arm == record.ArmAA {
		return arm
	}
	return kernel
}

func (l *Ledger) armAt(p record.Prefix, unix int64) record.Arm {
	if l.cfg.ArmAt == nil || p == 0 {
		return record.ArmNone
	}
	arm, in := l.cfg.ArmAt(p, unix)
	if !in {
		return record.ArmNone
	}
	return arm
}

func (l *Ledger) block(unix int64) int64 { return unix / l.cfg.BlockSeconds }
