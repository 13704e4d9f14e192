package ledger

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Deltas telescope: over the observations o1, o2, ... of a connection,
//
//	win(w) = sum of (counter(oi) - counter(oi-1)) over the oi that fall into w
//
// so the windows of a connection add up to its lifetime counters, less those of the first
// sight if that is a baseline (a pre-start connection).
//
// The kernel's counters (tcp_info of include/uapi/linux/tcp.h) only grow, except in
// tcp_disconnect, which zeroes them while the socket keeps its cookie. A byte counter that
// went back means that, and then every counter counts from zero again. A time that alone went
// back is a rounding of the running period: no time passed.

// observe books the interval that o ends.
func (l *Ledger) observe(ns *netns, e *entry, o *sight, w uint32) {
	if e.is(gone) {
		e.flags &^= gone
		l.st.Gone--
		l.st.Returned++
	}
	l.turnTo(ns, e, w)
	l.settleIn(e, o.mark != nil)
	ackedBytes, busy := l.addCounters(e, &o.n)
	// A connection kept alive between responses is not waiting for its sender: its idle
	// intervals would make every web client look idle.
	if busy {
		l.addTime(e, elapsedUs, o.ns/1000, e.lastNs/1000)
	}
	e.lastNs = max(e.lastNs, o.ns)
	// A sample belongs to this interval only if something was acknowledged in it: an idle
	// connection shows its last one for ever.
	if !o.limited && o.rate > 0 && ackedBytes > 0 {
		e.rate = float32(o.rate)
	}
	e.minRttUs, e.srttUs, e.cong = o.minRttUs, o.srttUs, o.cong
	if o.mark != nil {
		l.addCounted(e, o.mark, &o.n)
		l.addMark(e, o.mark, o.ns)
	}
}

// turnTo makes w the window of e, and emits the record of an earlier window that is still
// due.
func (l *Ledger) turnTo(ns *netns, e *entry, w uint32) {
	if e.win > max(w, l.windowOf(int64(l.poll.bootNs)+l.off))+1 {
		l.setBack(ns, e, w)
		return
	}
	before := e.win
	if !e.is(observed) && before > 0 {
		before--
	}
	if w > before && !(e.is(cut) && w == before+1) {
		l.st.Spanned++
	}
	if e.is(observed) && w > e.win {
		l.emitKept(ns, e, record.EndWindow)
	}
	if w < e.win {
		l.st.Late++
		w = e.win
	}
	e.win = w
	e.flags = e.flags&^cut | observed
}

// setBack follows a wall clock that was set back. Normally an entry is at most one window
// ahead of the last poll's time (its record is out already); further ahead, its windows were
// counted by a clock that ran ahead. Waiting for that time to come again would make
// everything until then late.
func (l *Ledger) setBack(ns *netns, e *entry, w uint32) {
	l.st.SetBack++
	if e.is(observed) {
		l.emitKept(ns, e, record.EndWindow)
	}
	e.win = w
	e.flags = e.flags&^cut | observed
}

// addCounters books what the counters moved. It returns the bytes acknowledged, and whether
// anything was acknowledged, sent or received, or was waiting to be.
func (l *Ledger) addCounters(e *entry, n *counters) (ackedBytes uint64, busy bool) {
	for i := range nBytes {
		if n[i] < e.last[i] {
			e.last = counters{}
			l.st.CounterResets++
			break
		}
	}
	ackedBytes = n[acked] - e.last[acked]
	for i := range nBytes {
		busy = busy || n[i] != e.last[i]
		e.winBytes[i] += n[i] - e.last[i]
		e.last[i] = n[i]
	}
	for i := nBytes; i < nCounters; i++ {
		busy = busy || i == busyUs && n[i] > e.last[i]
		l.addTime(e, i-nBytes, n[i], e.last[i])
		e.last[i] = max(e.last[i], n[i])
	}
	return ackedBytes, busy
}

// addTime books microseconds, or none if they went back.
func (l *Ledger) addTime(e *entry, i int, now, before uint64) {
	if now <= before {
		return
	}
	sum := uint64(e.winUs[i]) + (now - before)
	if sum < now-before || sum > math.MaxUint32 {
		l.st.Clamped++
		sum = math.MaxUint32
	}
	e.winUs[i] = uint32(sum)
}

// addCounted books what counts in the experiment. Less than before is a counter read a moment
// before the mark, or one that was reset.
func (l *Ledger) addCounted(e *entry, m *abi.Mark, n *counters) {
	now := [nCounted]uint64{m.Counted(m.CountedAcked, n[acked]), m.Counted(m.CountedSent, n[sent]),
		m.Counted(m.CountedRetrans, n[retrans]), m.Counted(m.CountedBusyUs, n[busyUs])}
	for i := range countedBusyUs {
		e.winCounted[i] += max(now[i], e.counted[i]) - e.counted[i]
	}
	l.addTime(e, counting, now[countedBusyUs], e.counted[countedBusyUs])
	for i := range now {
		e.counted[i] = max(now[i], e.counted[i])
	}
}

// addMark books eBPF's rate samples and takes over the connection's history as of ns. A crossing after ns came while the
// dump was under way: at a block's end it is the next block's, and would make what this one counted a carry-over.
func (l *Ledger) addMark(e *entry, m *abi.Mark, ns uint64) {
	if m.RateN < e.rateN || m.RateSum < e.rateSum || m.LimitedN < e.limitedN {
		e.rateN, e.rateSum, e.limitedN, e.lateN, e.episodes = 0, 0, 0, 0, 0
	}
	e.winRateN += m.RateN - e.rateN
	e.winRateSum += m.RateSum - e.rateSum
	e.winLimitN += m.LimitedN - e.limitedN
	e.rateN, e.rateSum, e.limitedN = m.RateN, m.RateSum, m.LimitedN
	// What rests on fewer, of a response that has just begun to show them, does not displace what does not.
	if m.LateN != e.lateN && m.LateSamples() >= record.LateSamples {
		e.lateRate = m.LateRate
	}
	// These go round; 65,536 late samples between two polls would take round trips of 0.15 ms.
	e.winLateN = sumOrMost(e.winLateN, m.LateN-e.lateN)
	e.winEpisodes = sumOrMost(e.winEpisodes, m.Episodes-e.episodes)
	e.lateN, e.episodes = m.LateN, m.Episodes
	e.flags |= marked | passive
	e.set(mptcp, e.is(mptcp) || m.Flags&abi.MarkMPTCP != 0)
	if m.CrossedNs > ns {
		return
	}
	isCapped := m.Flags&abi.MarkRanCapped != 0
	if isCapped != e.is(capped) && e.crossings > 0 && e.winLateN > 0 { // which of them ran under a cap cannot be told
		e.flags |= mixed
	}
	e.set(capped, isCapped)
	e.crossings, e.crossedNs, e.switchedNs, e.plan = m.Crossings, m.CrossedNs, m.SwitchedNs, m.Plan
	e.assigned, e.applied = m.Assigned, m.Applied
	if m.Applied == record.AppliedTreatment {
		e.to = l.congs.number(m.Cong)
	}
}

func sumOrMost(a, b uint16) uint16 { return uint16(min(uint32(a)+uint32(b), math.MaxUint16)) }

// Kernel states (include/net/tcp_states.h).
const (
	tcpEstablished = 1
	tcpSynRecv     = 3
	tcpFinWait1    = 4
	tcpFinWait2    = 5
	tcpClose       = 7
	tcpCloseWait   = 8
	tcpLastAck     = 9
	tcpClosing     = 11
)

// connected is the set of states in which a socket is a connection. TIME_WAIT is not one: it
// is a stand-in that inherits the cookie after the close record is out. Nor is NEW_SYN_RECV,
// whose cookie the accepted socket inherits.
const connected = 1<<tcpEstablished | 1<<tcpFinWait1 | 1<<tcpFinWait2 | 1<<tcpCloseWait | 1<<tcpLastAck | 1<<tcpClosing

// followed reports whether s is a connection of its own. A full socket in SYN_RECV is a Fast
// Open child before its handshake ends: it counts once sock_ops has seen it; before that it
// would look like one that sock_ops missed.
func followed(s *inetdiag.Sock) bool {
	if s.Has&inetdiag.HasInfo == 0 || s.State > 31 {
		return false
	}
	return connected>>s.State&1 == 1 || s.State == tcpSynRecv && s.Has&inetdiag.HasStorage != 0
}

// sight is one observation of a connection, from a dump or from a close record.
type sight struct {
	n        counters
	rate     uint64 // the kernel's last sample, bytes/s
	limited  bool   // that sample was application-limited
	minRttUs uint32
	srttUs   uint32
	ns       uint64 // boot time
	cong     uint8
	mark     *abi.Mark // nil: not followed by eBPF
}

// sightOf returns what a dump or a close record at a boot time shows of a connection.
func (l *Ledger) sightOf(in *inetdiag.TCPInfo, ns uint64, cong inetdiag.Cong, m *abi.Mark) sight {
	return sight{
		n: counters{in.BytesAcked, in.BytesSent, in.BytesRetrans, in.BytesReceived,
			in.BusyTimeUs, in.RwndLimitedUs, in.SndbufLimitedUs},
		rate: in.DeliveryRate, limited: in.DeliveryRateAppLimited,
		minRttUs: in.MinRttUs, srttUs: in.RttUs,
		ns: ns, cong: l.congs.number(cong), mark: m,
	}
}
