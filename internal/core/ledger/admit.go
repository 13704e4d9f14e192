package ledger

import (
	"net/netip"

	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/inetdiag"
)

// Where does a connection's first interval begin? For one that eBPF follows, at
// its establishment, with all counters zero. For one that is older than the agent,
// at its first sight: what passed before is a baseline. For a newcomer without a
// mark (an outgoing connection, or one that eBPF missed), somewhere after the dump
// before: its counters are all new, and its observed time is taken from that dump,
// an upper bound.

// admit makes an entry for a socket seen for the first time; none if it must not.
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

// bornAt starts e at its establishment: what it did until the first observation
// spans a boundary if its own window is an earlier one than w. It may be later than
// nowNs, where the dump began; later than a window is damage, and not believed.
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
	listens := p.listening != nil && p.listening(unmap(s.Local))
	e.set(passive, listens)
	switch {
	case p.first:
		p.ns.st.PreStart++
		e.flags |= preStart
		e.last = l.sightOfSock(s, nil).n
		e.set(foreign, listens && s.Cong != p.ns.defaultCong)
	case listens:
		p.ns.st.NewUnmarked++
		e.lastNs = p.sinceNs
	default:
		p.ns.st.NewActive++
		e.lastNs = p.sinceNs
	}
}

// forgetGone frees the vanished connections that are only kept for a late close
// record, and reports whether there were any.
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
