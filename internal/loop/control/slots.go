package control

import (
	"net"
	"slices"
	"sync"
)

// maxConns bounds the server's open connections: a verb has one, for milliseconds. Each
// costs a file descriptor and a goroutine, and up needs descriptors to poll.
const maxConns = 64

// slots keeps a flood of connections from keeping a stop out: a new connection always gets
// in, and beyond max the oldest of the process that holds most goes. Root's go last: they
// are the reserve of the operator.
type slots struct {
	net.Listener
	max int

	mu   sync.Mutex // guards open
	open []*slot    // in order of arrival
}

type slot struct {
	net.Conn
	peer  Peer
	known bool
	in    *slots
}

func (s *slots) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	fresh := &slot{Conn: c, in: s}
	fresh.peer, fresh.known = peer(c)
	if out := s.admit(fresh); out != nil {
		_ = out.Close()
	}
	return fresh, nil
}

// admit takes a connection in and returns the one that must go for it.
func (s *slots) admit(fresh *slot) (out *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= s.max {
		out = crowd(s.open)
	}
	s.open = append(s.open, fresh)
	return out
}

// crowd returns the oldest connection of the process that has most, root's aside where
// there are others.
func crowd(open []*slot) (oldest *slot) {
	count := map[Peer]int{}
	for _, c := range open {
		count[c.peer]++
	}
	for _, c := range open {
		if oldest == nil || oldest.peer.UID == 0 && c.peer.UID != 0 ||
			(oldest.peer.UID == 0) == (c.peer.UID == 0) && count[c.peer] > count[oldest.peer] {
			oldest = c
		}
	}
	return oldest
}

func (c *slot) Close() error {
	c.in.mu.Lock()
	c.in.open = slices.DeleteFunc(c.in.open, func(o *slot) bool { return o == c })
	c.in.mu.Unlock()
	return c.Conn.Close()
}
