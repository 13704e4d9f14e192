package ledger

import (
	order "cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

const simWindow = 10 // seconds

// sim is a host with some connections, a ledger that watches it badly, and the
// oracle's history of what the ledger was shown.
type sim struct {
	t       *rapid.T
	l       *Ledger
	nowNs   int64 // Unix
	conns   []*simConn
	cookies uint64
	window  int64 // number of the last window that had a final poll, or should have had
	first   bool
	emitted map[uint64][]row
}

type simConn struct {
	*life
	bornNs   int64
	alive    bool
	closedNs int64
	deliver  int // dumps until the close record is applied; -1 lost, -2 applied
	history  []event
	missed   int
	vanished bool
	total    counters // truth, over all lives
	baseline counters
	reset    bool
	counted  [nCounted]uint64 // truth, over all lives
}

func newSim(t *rapid.T) *sim {
	s := &sim{t: t, nowNs: testOffset + 500e9, first: true, emitted: map[uint64][]row{}}
	s.window = s.nowNs / 1e9 / simWindow
	s.l = ledgerOf(Config{WindowSeconds: simWindow, BlockSeconds: 60, Emit: func(r *record.Conn) {
		k := uint64(r.Cookie)
		s.emitted[k] = append(s.emitted[k], row{Window: r.Window / simWindow, End: r.End,
			Bytes:   [nBytes]uint64{r.WinBytesAcked, r.WinBytesSent, r.WinBytesRetrans, r.WinBytesReceived},
			Counted: [nCounted]uint64{r.WinCountedBytesAcked, r.WinCountedBytesSent, r.WinCountedBytesRetrans, r.WinCountedBusyUs},
			Late:    lateness{r.WinLateSamples, r.WinEpisodes, uint32(r.LateBytesPerS), 0},
			BusyUs:  r.WinBusyUs, ElapsedUs: r.WinElapsedUs})
	}})
	return s
}

func (s *sim) num(max int, what string) int { return rapid.IntRange(0, max).Draw(s.t, what) }

func (s *sim) bootUs() uint64 { return uint64(s.nowNs-testOffset) / 1000 }

func (s *sim) open(marked bool) {
	s.cookies++
	c := &simConn{life: newLife(1, s.cookies), bornNs: s.nowNs, alive: true}
	c.marked = marked
	if marked {
		c.mark.EstablishedNs = uint64(s.nowNs - testOffset)
	} else {
		c.life.local = c.remote // listens nowhere: ours
	}
	s.conns = append(s.conns, c)
}

func (s *sim) move(c *simConn) {
	for i := range nCounters {
		n := uint64(s.num(1000, "move"))
		c.n[i] += n
		c.total[i] += n
		if j, ok := map[int]int{acked: countedAcked, sent: countedSent, retrans: countedRetrans, busyUs: countedBusyUs}[i]; ok && c.mark.Flags&abi.MarkCounting != 0 {
			c.counted[j] += n
		}
	}
	if m := &c.mark; m.Flags&abi.MarkCounting != 0 {
		m.LateN += uint16(s.num(9000, "late"))
		m.Episodes += uint16(s.num(9000, "episodes"))
		m.LateRate = uint32(s.num(1e6, "late rate"))
		m.Flags = m.Flags&0xffff | uint32(s.num(16, "of one response"))<<16
	}
}

// cross ends a response, or begins one, with a pacing cap or without.
func (s *sim) cross(c *simConn) {
	c.turn()
	if m := &c.mark; m.Flags&abi.MarkCounting != 0 {
		m.Crossings++
		if m.Flags &^= abi.MarkRanCapped; s.num(2, "capped") == 0 {
			m.Flags |= abi.MarkRanCapped
		}
	}
}

// shown is what a sight of it, or its close record, shows.
func (c *life) shown(kind eventKind, w int64, atUs uint64) event {
	ev := event{kind: kind, w: w, n: c.n, counted: c.soFar(), late: c.lateSoFar(), atUs: atUs}
	if c.marked {
		ev.capped, ev.crossings = c.mark.Flags&abi.MarkRanCapped != 0, c.mark.Crossings
	}
	return ev
}

func (c *life) lateSoFar() lateness {
	if !c.marked {
		return lateness{}
	}
	return lateness{uint32(c.mark.LateN), uint32(c.mark.Episodes), c.mark.LateRate, c.mark.Flags >> 16}
}

// so far is what a mark says that counts.
func (c *life) soFar() (n [nCounted]uint64) {
	if m := &c.mark; c.marked {
		n = [nCounted]uint64{m.Counted(m.CountedAcked, c.n[acked]), m.Counted(m.CountedSent, c.n[sent]),
			m.Counted(m.CountedRetrans, c.n[retrans]), m.Counted(m.CountedBusyUs, c.n[busyUs])}
	}
	return n
}

// step lets something happen to one connection.
func (s *sim) step() {
	s.nowNs += int64(s.num(400, "ms")) * 1e6
	if len(s.conns) == 0 || s.num(3, "open") == 0 {
		s.open(s.num(4, "marked") > 0)
		return
	}
	c := s.conns[s.num(len(s.conns)-1, "conn")]
	if !c.alive {
		return
	}
	s.move(c)
	if s.num(2, "turn") == 0 {
		s.cross(c)
	}
	switch s.num(11, "fate") {
	case 0, 1, 2, 3:
		c.alive, c.closedNs, c.state = false, s.nowNs, tcpLastAck
		c.deliver = s.num(5, "deliver") - 1
		if !c.marked {
			c.deliver = -1
		}
		if c.deliver == 0 {
			s.applyClose(c)
		}
	case 4:
		c.n, c.reset = counters{}, true
	}
}

func (s *sim) applyClose(c *simConn) {
	c.deliver = -2
	r := c.life.close(c.closedNs)
	c.history = append(c.history, c.shown(evClose, c.closedNs/1e9/simWindow, r.AtNs/1000))
	s.l.Close(r, testOffset)
}

// dump shows the ledger the live sockets, and now and then one that has just closed.
func (s *sim) dump(final bool, w int64) {
	complete := s.num(4, "complete") > 0
	s.l.BeginPoll(Poll{Netns: 1, AtNs: s.nowNs, BootNs: s.nowNs - testOffset, DefaultCong: inetdiag.CongOf("cubic"), First: s.first, Final: final, Window: w * simWindow})
	shown := map[uint64]bool{}
	for _, c := range s.conns {
		ghost := !c.alive && s.nowNs-c.closedNs < 1e9 && s.num(1, "ghost") == 0
		if !c.alive && !ghost || !complete && s.num(2, "missed") == 0 {
			continue
		}
		s.l.Sock(c.sock())
		if c.deliver == -2 {
			continue // after its close record: nothing may come of it
		}
		shown[c.cookie] = true
		s.note(c, final, w)
	}
	s.l.EndPoll(complete)
	if complete {
		s.age(shown)
		s.first = false
	}
	s.drain()
}

func (s *sim) note(c *simConn, final bool, w int64) {
	ev := c.shown(evSight, w, s.bootUs())
	if final {
		ev.kind = evFinal
	}
	if len(c.history) == 0 {
		switch {
		case c.marked && c.bornNs/1e9/simWindow > w:
			ev.kind, ev.w = evSight, c.bornNs/1e9/simWindow
		case !c.marked && s.first:
			ev.baseline, c.baseline = true, c.total
		}
	}
	c.history, c.missed, c.vanished = append(c.history, ev), 0, false
}

// age is the oracle's own count of complete dumps without a sight.
func (s *sim) age(shown map[uint64]bool) {
	for _, c := range s.conns {
		if shown[c.cookie] || len(c.history) == 0 || c.deliver == -2 && !c.alive {
			continue
		}
		c.missed++
		if c.missed == vanishPolls && !c.vanished {
			c.vanished = true
			c.history = append(c.history, event{kind: evVanish})
		}
	}
}

// drain applies the close records whose time has come.
func (s *sim) drain() {
	for _, c := range s.conns {
		if c.alive || c.deliver <= 0 {
			continue
		}
		if c.deliver--; c.deliver == 0 {
			s.applyClose(c)
		}
	}
}

func (s *sim) settle(w int64) {
	s.l.Settle(w * simWindow)
	for _, c := range s.conns {
		if len(c.history) > 0 {
			c.history = append(c.history, event{kind: evSettle, w: w})
		}
	}
}

// poll runs the dump that is due: the final one of a window that has passed, unless
// the agent was stalled over it.
func (s *sim) poll() {
	now := s.nowNs / 1e9 / simWindow
	if now > s.window {
		s.window = now
		if s.num(4, "stall") > 0 {
			s.dump(true, now-1)
			if s.num(3, "settle") > 0 {
				s.settle(now - 1)
			}
			return
		}
	}
	s.dump(false, now)
}

func TestAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(t)
		for range s.num(4, "old") {
			s.open(false)
			s.move(s.conns[len(s.conns)-1])
		}
		s.dump(false, s.window)
		for range s.num(12, "rounds") {
			for range s.num(12, "steps") {
				s.step()
			}
			s.nowNs += int64(s.num(4, "s")) * 1e9
			s.poll()
		}
		s.check()
	})
}

func (s *sim) check() {
	for _, c := range s.conns {
		got := slices.Clone(s.emitted[c.cookie])
		slices.SortFunc(got, func(a, b row) int { return order.Compare(a.Window, b.Window) })
		for i := 1; i < len(got); i++ {
			if got[i].Window == got[i-1].Window {
				s.t.Fatalf("conn %d: two records for window %d", c.cookie, got[i].Window)
			}
		}
		want, open := recompute(c.history, uint64(c.bornNs-testOffset)/1000)
		if c.unmarkedLater() {
			forgetElapsed(got, want)
		}
		if d := cmp.Diff(want, got); d != "" {
			s.t.Fatalf("conn %d (oracle -, ledger +):\n%s\nhistory: %s", c.cookie, d, showHistory(c.history))
		}
		s.conserved(c, got, open)
	}
	if s.l.st.MarkFaults+s.l.st.Clamped+s.l.st.Overflow > 0 {
		s.t.Fatalf("unexpected faults: %+v", s.l.Stats())
	}
}

// unmarkedLater: the observed time of a newcomer without a mark starts at the dump
// before, which this oracle does not know.
func (c *simConn) unmarkedLater() bool { return !c.marked }

func forgetElapsed(rows ...[]row) {
	for _, r := range rows {
		for i := range r {
			r[i].ElapsedUs = 0
		}
	}
}

// conserved: what the records say of a connection whose close record came is its
// whole life, to the byte.
func (s *sim) conserved(c *simConn, got []row, open row) {
	if c.reset || c.deliver != -2 || c.alive {
		return
	}
	if open != (row{}) {
		s.t.Fatalf("conn %d: closed, and %+v is in no record", c.cookie, open)
	}
	var sum [nBytes]uint64
	var counted [nCounted]uint64
	var elapsed uint64
	for _, r := range got {
		for i := range sum {
			sum[i] += r.Bytes[i]
			counted[i] += r.Counted[i]
		}
		elapsed += r.ElapsedUs
	}
	if truth := [nBytes]uint64(c.total[:nBytes]); sum != truth {
		s.t.Fatalf("conn %d: records add up to %v, its life was %v", c.cookie, sum, truth)
	}
	if counted != c.counted {
		s.t.Fatalf("conn %d: records count %v, of its life %v counts", c.cookie, counted, c.counted)
	}
	// A dump may show it up to a second after its close.
	life := uint64(c.closedNs-c.bornNs) / 1000
	if elapsed > life+1e6+1 { // idle intervals count nowhere
		s.t.Fatalf("conn %d: observed for %d us, it lived for %d", c.cookie, elapsed, life)
	}
}

func showHistory(h []event) (s string) {
	for _, ev := range h {
		s += fmt.Sprintf("\n  %s w=%d acked=%d at=%dus", [...]string{"sight", "final", "close", "settle", "vanish"}[ev.kind], ev.w, ev.n[acked], ev.atUs)
	}
	return s
}
