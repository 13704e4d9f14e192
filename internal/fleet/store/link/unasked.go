package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// What is no request reaches no handler, and net/http logs nothing of it: a header that is too long or too slow, two
// lengths. So each connection notes whether a handler saw what it said.

// talk is what a connection said since it was idle. The goroutines of its requests and its own use it.
type talk struct {
	began  atomic.Int64 // Unix nanoseconds of its first bytes; 0: none came
	bytes  atomic.Int64 // as they came, in TLS
	told   atomic.Int64 // bytes, in TLS, that went back
	asked  atomic.Bool  // a handler saw it
	active atomic.Bool  // net/http says that more than nothing came
	rested atomic.Bool  // it was idle before
	met    atomic.Bool  // HTTP/2 says once that it is active and idle, of nothing
}

// goodbye is the bytes with which TLS 1.3 ends a connection.
const goodbye = 24

func (t *talk) heard(n int) {
	if n > 0 {
		t.began.CompareAndSwap(0, time.Now().UnixNano())
		t.bytes.Add(int64(n))
	}
}

// over forgets what was said and returns how much it was.
func (t *talk) over() (bytes, told int64, took time.Duration) {
	if began := t.began.Swap(0); began > 0 {
		took = time.Since(time.Unix(0, began))
	}
	return t.bytes.Swap(0), t.told.Swap(0), took
}

// asked notes that a handler has a request.
func asked(ctx context.Context) {
	if h, ok := ctx.Value(heldKey{}).(*held); ok {
		h.talk.asked.Store(true)
	}
}

// Unasked has s, whose listener is [Bounded] and whose handler is [Watched], tell refused of connections that say what is no request, or
// nothing for as long as a header may take.
func Unasked(s *http.Server, refused func(string)) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if h, _ := heldOf(c); h != nil {
			ctx = context.WithValue(ctx, heldKey{}, h)
		}
		return ctx
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		h, in := heldOf(c)
		if h == nil {
			return
		}
		t := &h.talk
		switch state {
		case http.StateActive:
			t.active.Store(true)
			t.asked.Store(false)
		case http.StateIdle, http.StateClosed:
			if bytes, told, took := t.over(); t.wasNone(max(bytes, told), took >= s.ReadHeaderTimeout, state == http.StateClosed, in) {
				refused(fmt.Sprintf("connection of %s refused: %s", peerOf(&in, c.RemoteAddr().String()), noRequest(bytes, took, s)))
			}
		}
	}
}

// wasNone reports whether what was said, in bytes of the longer direction, was no request, and begins anew.
func (t *talk) wasNone(bytes int64, late, closed bool, in tls.ConnectionState) bool {
	second := in.NegotiatedProtocol == "h2"
	if second && !t.met.Swap(true) && !closed {
		return false
	}
	active, asked, rested := t.active.Swap(false), t.asked.Swap(false), t.rested.Swap(true)
	if asked || !in.HandshakeComplete { // without a handshake, net/http logs it
		return false
	}
	// net/http does not call it active, and may have read it before the connection was idle; but then it answers.
	behind := rested && !second && bytes > goodbye
	return active || closed && (behind || late && !rested)
}

// noRequest is why what came was none.
func noRequest(bytes int64, took time.Duration, s *http.Server) string {
	switch {
	case bytes > int64(s.MaxHeaderBytes):
		return fmt.Sprintf("its header is longer than %d bytes", s.MaxHeaderBytes)
	case took >= s.ReadHeaderTimeout:
		return fmt.Sprintf("no whole header came in %s", s.ReadHeaderTimeout)
	}
	return "what it sent is no request"
}

// heldOf returns nil for a connection of another listener.
func heldOf(c net.Conn) (*held, tls.ConnectionState) {
	if over, ok := c.(*tls.Conn); ok {
		if h, ok := over.NetConn().(*held); ok {
			return h, over.ConnectionState()
		}
	}
	return nil, tls.ConnectionState{}
}
