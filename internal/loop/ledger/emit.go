package ledger

import (
	"net/netip"

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
	e.flags &^= observed | mixed
	e.set(cut, wasCut)
	e.winBytes = [nBytes]uint64{}
	e.winCounted = [countedBusyUs]uint64{}
	e.winUs = [nTimes]uint32{}
	e.winRateSum, e.winRateN, e.winLimitN, e.rate = 0, 0, 0, 0
	e.winLateN, e.winEpisodes, e.lateRate = 0, 0, 0
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
		WinCountedBytesAcked: e.winCounted[countedAcked], WinCountedBytesSent: e.winCounted[countedSent],
		WinCountedBytesRetrans: e.winCounted[countedRetrans], WinCountedBusyUs: uint64(e.winUs[counting]),
		WinRateSamples: e.winRateN, WinLimitedSamples: e.winLimitN,
		WinEpisodes: uint32(e.winEpisodes), WinLateSamples: uint32(e.winLateN), LateBytesPerS: float64(e.lateRate),
	}
	r := &l.rec
	r.Prefix, _ = record.PrefixOf(r.Remote.Addr())
	r.ClientFacing = e.is(passive) && (l.cfg.ClientFacing == nil || l.cfg.ClientFacing(r.Netns, r.Local, r.Remote, r.Passive))
	r.RateBytesPerS, r.RateSource = e.windowRate()
	if e.is(mixed) {
		r.WinLateSamples, r.LateBytesPerS = 0, 0
	}
	l.fillArms(ns, r, e)
}

// windowRate is the mean of the window's path-limited samples, one a round trip and all of what
// counts; without eBPF, the kernel's last such sample.
func (e *entry) windowRate() (float64, record.RateSource) {
	switch {
	case e.winRateN > 0:
		return float64(e.winRateSum) / float64(e.winRateN), record.RateMean
	case e.rate > 0 && !e.is(marked):
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

// Which block does a response count in? The one in which it crossed the threshold, whatever its
// arm, from the crossing until that block ends; none if it crossed in the block's wash-out (record.Conn.Washed). The kernel counts so for each connection it
// follows (bpf/count.h), and stops within a round trip of the block's end. So what a record has counted is of the
// window's own block, and a connection whose last crossing lies in another block has nothing
// that counts here: its record is a carry-over. (In a block before its first crossing it is
// none.) This is the only rule on what outlives a block: rows, effects, hold-out, A/A and goodput
// all read Carryover and what was counted.
//
// The crossing comes before any treatment (but cubic_lt's, which begins with the first byte), so it takes the same responses from both arms. Were
// treated ones alone cut, T would hold the old connections and C the fresh ones, and the
// difference between old and fresh would pass for an effect.
//
// Without eBPF no crossing is known, and the first sight stands for it; a pre-start
// connection may have crossed at any time before.

// settleIn notes the first sight of an entry without a mark.
func (l *Ledger) settleIn(e *entry, hasMark bool) {
	if e.home != 0 || hasMark || e.is(marked) {
		return
	}
	// The middle of the window: its start may be a block's border, which a step of less than a
	// second would cross. In boot time, so that a step of the wall clock moves it along.
	at := l.windowStart(e.win) + l.cfg.WindowSeconds/2
	e.home = uint32(max(1, at-l.off/1e9))
}

// carried reports whether a record has nothing that counts in its window's block.
func (l *Ledger) carried(r *record.Conn, e *entry) bool {
	at := r.CrossedNs / 1e9
	if !e.is(marked) {
		at = int64(e.home) + l.off/1e9
	}
	return e.is(passive) && (r.CrossedNs != 0 || !e.is(marked)) && l.block(at) != l.block(r.Window)
}

// Which arm does a record carry? That of its last crossing if it crossed in this block, else the
// prefix's arm in the window. The kernel reports the former except in two cases: past the end of
// its map value it reports unknown, and it has no entry for prefixes that no plan has. Both are
// recomputed: arms are a function of (prefix, block, salt).
//
// Applied belongs to that crossing, and so does the congestion control of a treated response: by
// the time of the poll the connection may be back on the default. Without a crossing in this
// block nothing was applied in its arm.
//
// If no eBPF follows connections (Config.Unfollowed) the congestion control decides: a
// connection on its namespace's default was not treated, and is in the prefix's arm of the
// window; any other may be either.

// fillArms sets Assigned, Applied and Carryover, and of what was treated Cong and Capped.
func (l *Ledger) fillArms(ns *netns, r *record.Conn, e *entry) {
	r.Carryover = l.carried(r, e)
	switch {
	case !e.is(passive): // our own outgoing connections are in no plan
	case e.is(marked) && (r.CrossedNs == 0 || r.Carryover):
		r.Assigned = l.armAt(r.Prefix, r.Window)
	case e.is(marked):
		r.Assigned, r.Applied = l.assigned(r, e.assigned), e.applied
		if e.applied == record.AppliedTreatment {
			r.Cong, r.DefaultCong = l.congs.name(e.to), l.congs.packed(e.to) == ns.defaultCong
			r.Capped = e.is(capped)
		}
	case e.is(foreign):
		r.Assigned, r.Applied = record.ArmUnknown, record.AppliedUnknown
	case e.is(preStart): // on the default, and eBPF cannot move it: as if in no plan
	case l.cfg.Unfollowed && r.DefaultCong:
		r.Assigned = l.armAt(r.Prefix, r.Window)
		if r.Assigned == record.ArmControl {
			r.Applied = record.AppliedControl
		}
	case l.cfg.Unfollowed: // its application's own choice, or a route's
		r.Assigned, r.Applied = record.ArmUnknown, record.AppliedUnknown
	default:
		r.Assigned, r.Applied = l.armAt(r.Prefix, r.Window), record.AppliedUnknown
	}
}

func (l *Ledger) assigned(r *record.Conn, kernel record.Arm) record.Arm {
	if kernel != record.ArmUnknown && kernel != record.ArmNone {
		return kernel
	}
	arm := l.armAt(r.Prefix, r.CrossedNs/1e9)
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
