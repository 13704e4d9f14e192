package ledger

import (
	"net/netip"

	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/record"
)

const (
	// vanishPolls complete dumps without a socket before it counts as gone: one can
	// miss a live socket when its hash chain changes between two reads of it.
	vanishPolls = 2
	// forgetPolls: until then (a minute of 10 s polls) a close record that comes after
	// all, or a new sight, still finds the connection and counts nothing twice.
	forgetPolls = 6
)

// poll is the dump in progress; ns is nil between dumps.
type poll struct {
	ns        *netns
	atNs      int64  // Unix
	bootNs    uint64 // kept after the dump: the ledger's idea of now
	sinceNs   uint64 // of this namespace's dump before, or of this one
	first     bool
	final     bool
	window    uint32
	listening func(netip.AddrPort) bool
}

// BeginPoll starts a dump of one namespace at atNs (Unix) = bootNs
// (CLOCK_BOOTTIME). first: no dump of it before since the agent's start, so
// sockets without a mark are older than the agent. window (Unix seconds) is the
// window that the dump observes; final: it runs right at that window's end and
// emits its records. listening gets an unmapped address; nil: nothing listens.
func (l *Ledger) BeginPoll(id record.NetnsID, atNs, bootNs int64, defaultCong inetdiag.Cong,
	listening func(netip.AddrPort) bool, first, final bool, window int64) {
	if l.poll.ns != nil {
		l.EndPoll(false)
	}
	l.off = atNs - bootNs
	now := uint64(max(bootNs, 0))
	l.tombs.age(now)
	l.reap(now)
	ns := l.open(id)
	if ns == nil {
		l.st.NetnsOverflow++
		return
	}
	ns.defaultCong = defaultCong
	ns.seq++
	ns.full = false
	l.poll = poll{ns: ns, atNs: atNs, bootNs: now, sinceNs: now, first: first || !ns.started, final: final,
		window: l.windowNumber(window), listening: listening}
	if ns.polledNs != 0 {
		l.poll.sinceNs = ns.polledNs
	}
	ns.polledNs = now
}

// Sock takes one socket of the dump in progress; s is not kept.
func (l *Ledger) Sock(s *inetdiag.Sock) {
	p := &l.poll
	if p.ns == nil || !followed(s) {
		l.st.Ignored++
		return
	}
	m, w := l.markOf(s), p.window
	i, known := p.ns.index[s.Cookie]
	if !known {
		if i = l.admit(s, m); i == none {
			return
		}
	}
	e := l.slab.at(i)
	switch {
	case !known:
		w = max(w, e.win) // accepted after the window that a final poll observes
	case e.seen == p.ns.seq:
		l.st.DuplicateSights++
	}
	e.seen, e.missed = p.ns.seq, 0
	o := l.sightOfSock(s, m)
	l.observe(p.ns, e, &o, w)
	if p.final && e.win == p.window {
		l.emitSight(p.ns, e, s)
	}
}

// markOf decodes the socket's mark; nil if it has none.
func (l *Ledger) markOf(s *inetdiag.Sock) *abi.Mark {
	if s.Has&inetdiag.HasStorage == 0 {
		return nil
	}
	if abi.DecodeMark(s.Storage, &l.mark) != nil {
		l.st.MarkFaults++
		return nil
	}
	return &l.mark
}

// EndPoll ends the dump. complete: nothing interrupted it, so a socket that it
// did not show was not there. An incomplete one ages nobody.
func (l *Ledger) EndPoll(complete bool) {
	ns := l.poll.ns
	if ns == nil {
		return
	}
	l.poll.ns = nil
	if !complete {
		l.st.PollsInterrupted++
		return
	}
	l.st.Polls++
	ns.started = ns.started || !ns.full
	l.each(ns, func(i uint32, e *entry) {
		if e.seen == ns.seq {
			return
		}
		e.missed++
		if e.missed >= vanishPolls {
			l.vanish(ns, e)
		}
		if e.missed >= forgetPolls {
			l.remove(ns, i)
		}
	})
}

// vanish emits the last record of a connection that went without a close record.
func (l *Ledger) vanish(ns *netns, e *entry) {
	if e.is(gone) {
		return
	}
	if e.is(marked) {
		l.st.VanishedMarked++
	}
	l.emitKept(ns, e, record.EndVanished)
	e.flags |= gone
	l.st.Gone++
}
