package link

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A connection is a stranger's until a request on it was of a known caller. Strangers cost memory and descriptors, so
// they have a time and a number; and the newest always gets in, since it may be an agent.

const (
	// maxConns of one address (IPv6: of one /64), each some 50 kB: an agent has one, so this is so many hosts
	// behind one address.
	maxConns = 512
	// maxStrangers of all addresses: 25 MB. A handshake takes a millisecond, so a fleet that comes back after a
	// restart has fewer in the middle of it.
	maxStrangers = 512
	// strangerWait is for a handshake and a header, each of which has 10 s.
	strangerWait = 20 * time.Second
)

// Bounded is l with a limit of connections from one address, and of strangers. Beyond it the oldest stranger goes, of the
// address that has most; where an address has no stranger, what is beyond is closed at once.
func Bounded(l net.Listener, refused func(string)) net.Listener {
	return &bounded{Listener: l, of: map[string]int{}, refused: refused}
}

type bounded struct {
	net.Listener
	refused func(string)

	mu        sync.Mutex // guards these, and late and closed of all
	of        map[string]int
	strangers []*held // in order of arrival
}

// held is an open connection.
type held struct {
	net.Conn
	talk  talk
	known atomic.Bool // no stranger's
	in    *bounded
	from  string

	late   *time.Timer // ends a stranger
	closed bool
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		h := &held{Conn: c, in: b, from: holderOf(c.RemoteAddr())}
		out, why := b.admit(h)
		if out != nil {
			b.refused(fmt.Sprintf("connection from %s refused: %s", out.from, why))
			_ = out.Close()
		}
		if out != h {
			return h, nil
		}
	}
}

// admit takes a connection in and returns the one that must go for it, which may be itself.
func (b *bounded) admit(h *held) (out *held, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.of[h.from] >= maxConns:
		out, why = h, fmt.Sprintf("it has %d", maxConns)
		if i := slices.IndexFunc(b.strangers, func(s *held) bool { return s.from == h.from }); i >= 0 {
			out, why = b.strangers[i], why+", and this one is the oldest that has shown no certificate or token"
		}
	case len(b.strangers) >= maxStrangers:
		out, why = crowd(b.strangers), fmt.Sprintf("%d have shown no certificate or token, and this one is the oldest of the address that has most", maxStrangers)
	}
	b.of[h.from]++
	b.strangers = append(b.strangers, h)
	h.late = time.AfterFunc(strangerWait, func() { _ = h.Conn.Close() })
	return out, why
}

// crowd returns the oldest connection of the address that has most.
func crowd(strangers []*held) (oldest *held) {
	of := map[string]int{}
	for _, s := range strangers {
		of[s.from]++
	}
	for _, s := range strangers {
		if oldest == nil || of[s.from] > of[oldest.from] {
			oldest = s
		}
	}
	return oldest
}

// settled says that the connection of a request is no stranger's.
func settled(ctx context.Context) {
	if h, ok := ctx.Value(heldKey{}).(*held); ok && !h.known.Swap(true) {
		h.in.mu.Lock()
		defer h.in.mu.Unlock()
		h.in.noStranger(h)
	}
}

// noStranger takes a connection out of the strangers. b.mu is held.
func (b *bounded) noStranger(h *held) {
	h.late.Stop()
	b.strangers = slices.DeleteFunc(b.strangers, func(s *held) bool { return s == h })
}

type heldKey struct{}

// holderOf is what an address's owner has: of IPv6 a /64.
func holderOf(a net.Addr) string {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := p.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}

func (h *held) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.talk.heard(n)
	return n, err
}

func (h *held) Write(p []byte) (int, error) {
	n, err := h.Conn.Write(p)
	h.talk.told.Add(int64(n))
	return n, err
}

func (h *held) Close() error {
	h.in.leave(h)
	return h.Conn.Close()
}

func (b *bounded) leave(h *held) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	b.noStranger(h)
	if b.of[h.from]--; b.of[h.from] == 0 {
		delete(b.of, h.from)
	}
}
