package sample

import (
	"net/netip"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// Listeners is the set of addresses and ports that accept connections.
type Listeners struct {
	at map[netip.AddrPort]bool // true: IPv6 only
}

func (l *Listeners) reset() {
	if l.at == nil {
		l.at = make(map[netip.AddrPort]bool)
	}
	clear(l.at)
}

func (l *Listeners) add(s *inetdiag.Sock) {
	// Several sockets may share an address (SO_REUSEPORT): one that takes both
	// families is enough.
	only, known := l.at[s.Local]
	l.at[s.Local] = s.V6Only && (only || !known)
}

// Len is the number of distinct addresses and ports.
func (l *Listeners) Len() int { return len(l.at) }

// Accepts reports whether a connection with this local address was accepted by one
// of the listeners: its own address and port, or the port on a wildcard. A
// connection that left a listening port as a client, possible with SO_REUSEADDR,
// is taken for an accepted one.
func (l *Listeners) Accepts(local netip.AddrPort) bool {
	port := local.Port()
	addr := local.Addr().Unmap()
	if _, ok := l.at[netip.AddrPortFrom(addr, port)]; ok {
		return true
	}
	only, ok := l.at[netip.AddrPortFrom(netip.IPv6Unspecified(), port)]
	if !addr.Is4() {
		return ok
	}
	if ok && !only {
		return true
	}
	if _, ok := l.at[netip.AddrPortFrom(netip.IPv4Unspecified(), port)]; ok {
		return true
	}
	_, ok = l.at[netip.AddrPortFrom(netip.AddrFrom16(addr.As16()), port)] // bound to ::ffff:a.b.c.d
	return ok
}
