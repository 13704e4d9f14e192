package control

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// maxConns bounds the server's open connections: a verb has one, for milliseconds. Each
// costs a file descriptor and a goroutine, and up needs descriptors to poll.
const maxConns = 64

// Slots keeps a flood of connections from keeping a stop, a probe or a scrape out: a new connection always gets
// in, and beyond Most one goes of the holder that has most, the oldest of those that ask nothing before those that
// do. Root's go last: they are the reserve of the operator.
type Slots struct {
	net.Listener
	Most  int
	Whose func(net.Conn) Holder

	mu   sync.Mutex // guards open and asks of each
	open []*slot    // in order of arrival
}

// Holder is whose a connection is: a process, a user, an address.
type Holder struct {
	Name string // "": unknown
	Root bool
}

type slot struct {
	net.Conn
	holder Holder
	asks   bool // a request is under way
	in     *Slots
}

// Accept implements [net.Listener].
func (s *Slots) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	fresh := &slot{Conn: c, holder: s.Whose(c), in: s}
	if out := s.admit(fresh); out != nil {
		_ = out.Close()
	}
	return fresh, nil
}

// Turned is for [http.Server.ConnState].
func (s *Slots) Turned(c net.Conn, to http.ConnState) {
	if c, ok := c.(*slot); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.asks = to == http.StateActive
	}
}

// HolderOf returns whose an accepted connection is.
func HolderOf(c net.Conn) Holder {
	if s, ok := c.(*slot); ok {
		return s.holder
	}
	return Holder{}
}

// admit takes a connection in and returns the one that must go for it.
func (s *Slots) admit(fresh *slot) (out *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= s.Most {
		out = crowd(s.open)
		s.drop(out)
	}
	s.open = append(s.open, fresh)
	return out
}

// crowd returns the connection that goes.
func crowd(open []*slot) (first *slot) {
	count := map[Holder]int{}
	for _, c := range open {
		count[c.holder]++
	}
	before := func(a, b *slot) bool {
		switch {
		case a.holder.Root != b.holder.Root:
			return b.holder.Root
		case count[a.holder] != count[b.holder]:
			return count[a.holder] > count[b.holder]
		}
		return !a.asks && b.asks
	}
	for _, c := range open {
		if first == nil || before(c, first) {
			first = c
		}
	}
	return first
}

func (s *Slots) drop(c *slot) {
	s.open = slices.DeleteFunc(s.open, func(o *slot) bool { return o == c })
}

func (c *slot) Close() error {
	c.in.mu.Lock()
	c.in.drop(c)
	c.in.mu.Unlock()
	return c.Conn.Close()
}
