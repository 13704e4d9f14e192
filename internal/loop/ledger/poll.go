package ledger

import (
	"net/netip"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

const (
	// vanishPolls complete dumps without a socket before it counts as gone: one dump can miss a
	// live socket when its hash chain changes between two reads of it.
	vanishPolls = 2
	// forgetPolls: until then (a minute of 10 s polls) a late close record, or a new sight, still
	// finds the connection, and nothing counts twice.
	forgetPolls = 6
)

// Poll is one dump of one namespace.
type Poll struct {
	Netns        record.NetnsID
	AtNs, BootNs int64 // one moment: Unix, CLOCK_BOOTTIME
	DefaultCong  inetdiag.Cong
	Listening    func(netip.AddrPort) bool // gets an unmapped address; nil: nothing listens
	First        bool                      // since the agent's start: sockets without a mark are older than the agent
	Final        bool                      // it runs right at the end of Window and emits its records
	Window       int64                     // that the dump observes, Unix seconds
}

// poll is the dump in progress; ns is nil between dumps.
type poll struct {
	Poll
	ns      *netns
	bootNs  uint64 // BootNs, never negative; kept after the dump: the ledger's present time
	sinceNs uint64 // of this namespace's previous dump, or of this one
	window  uint32 // its number
}

// BeginPoll starts a dump.
func (l *Ledger) BeginPoll(p Poll) {
	if l.poll.ns != nil {
		l.EndPoll(false)
	}
	l.off = p.AtNs - p.BootNs
	now := uint64(max(p.BootNs, 0))
	l.tombs.age(now)
	l.reap(now)
	ns := l.open(p.Netns)
	if ns == nil {
		l.st.NetnsOverflow++
		return
	}
	ns.defaultCong = p.DefaultCong
	ns.seq++
	ns.full = false
	p.First = p.First || !ns.started
	l.poll = poll{Poll: p, ns: ns, bootNs: now, sinceNs: now, window: l.windowNumber(p.Window)}
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
	o := l.sightOf(&s.Info, p.bootNs, s.Cong, m)
	l.observe(p.ns, e, &o, w)
	if p.Final && e.win == p.window {
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

// EndPoll ends the dump. complete: nothing interrupted it, so a socket that it did not show
// did not exist. An incomplete one ages no entry.
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

// vanish emits the last record of a connection that left without a close record.
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

// When does a connection's first interval begin? For one that eBPF follows, at its
// establishment, with all counters zero. For one older than the agent, at its first sight:
// earlier traffic is a baseline. For a newcomer without a mark (an outgoing connection, or
// one that eBPF missed), somewhere after the previous dump: its counters are all new, and
// its observed time counts from that dump, an upper bound.

// admit makes an entry for a socket seen for the first time, or none if it must not.
func (l *Ledger) admit(s *inetdiag.Sock, m *abi.Mark) uint32 {
	ns := l.poll.ns
	if l.tombs.has(key{ns.id, s.Cookie}, l.poll.bootNs) {
		l.st.Tombstones++
		return none
	}
	if l.slab.live >= l.cfg.MaxConns && !l.forgetGone() {
		l.st.Overflow++
		ns.full = true
		return none
	}
	i, e := l.slab.take()
	e.cookie = s.Cookie
	e.place(s.Local, s.Remote)
	e.seen = ns.seq - 1
	e.set(mptcp, s.Has&inetdiag.HasULP != 0 && s.ULP.MPTCP)
	l.link(ns, i, e)
	if m != nil {
		ns.st.NewMarked++
		l.bornAt(e, m.EstablishedNs, l.poll.window, l.poll.bootNs)
	} else {
		l.bornUnmarked(e, s)
	}
	return i
}

func (e *entry) place(local, remote netip.AddrPort) {
	e.local, e.remote = local.Addr().As16(), remote.Addr().As16()
	e.localPort, e.remotePort = local.Port(), remote.Port()
}

// bornAt starts e at its establishment: what it did until the first observation spans a
// boundary if its own window is earlier than w. It may be later than nowNs, where the dump
// began; a time more than a window later is damage and ignored.
func (l *Ledger) bornAt(e *entry, establishedNs uint64, w uint32, nowNs uint64) {
	e.flags |= cut
	e.win, e.lastNs = w, nowNs
	if establishedNs != 0 && establishedNs <= nowNs+uint64(l.cfg.WindowSeconds)*1e9 {
		e.win = min(l.windowOf(int64(establishedNs)+l.off), w+1)
		e.lastNs = establishedNs
	}
}

func (l *Ledger) bornUnmarked(e *entry, s *inetdiag.Sock) {
	p := &l.poll
	e.flags |= cut
	e.win, e.lastNs = p.window, p.bootNs
	listens := p.Listening != nil && p.Listening(unmap(s.Local))
	e.set(passive, listens)
	switch {
	case p.First:
		p.ns.st.PreStart++
		e.flags |= preStart
		e.last = l.sightOf(&s.Info, p.bootNs, s.Cong, nil).n
		e.set(foreign, listens && s.Cong != p.ns.defaultCong)
	case listens:
		p.ns.st.NewUnmarked++
		e.lastNs = p.sinceNs
	default:
		p.ns.st.NewActive++
		e.lastNs = p.sinceNs
	}
}

// forgetGone frees the vanished connections that are only kept for a late close record, and
// reports whether there were any.
func (l *Ledger) forgetGone() bool {
	if l.st.Gone == 0 {
		return false
	}
	for _, ns := range l.nss {
		if ns == nil {
			continue
		}
		l.each(ns, func(i uint32, e *entry) {
			if e.is(gone) {
				l.st.ForgottenEarly++
				l.remove(ns, i)
			}
		})
	}
	return true
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
