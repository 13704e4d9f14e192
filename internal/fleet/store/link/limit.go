package link

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

// What one peer may hold of a controller, so that none takes what the others need.
const (
	// maxRequests of one certificate's name: an agent has a stream, a batch and a report under way, and for a while
	// those of connections that broke.
	maxRequests = 16
	// maxConns of one address (IPv6: of one /64), each some 50 kB: an agent has one, so this is so many hosts
	// behind one address.
	maxConns = 512
	// bodyWait is how long a request's body may take: an agent gives up after 10 s.
	bodyWait = 30 * time.Second
)

// counts are how much of something each has.
type counts struct {
	mu   sync.Mutex // guards all below
	most int
	of   map[string]int
}

// take reports whether name may have one more.
func (c *counts) take(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[name] >= c.most {
		return false
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[name]++
	return true
}

func (c *counts) give(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[name]--; c.of[name] <= 0 {
		delete(c.of, name)
	}
}

// Limited is h for authenticated callers, each with a limit of requests under way and of time to send one. refused takes
// a line for the log.
func Limited(h http.Handler, refused func(string)) http.Handler {
	held := &counts{most: maxRequests}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := Caller(r.Context()).String()
		if !held.take(name) {
			refused(fmt.Sprintf("request of %s refused: it has %d under way", name, maxRequests))
			http.Error(w, fmt.Sprintf("%d requests of %s are under way", maxRequests, name), http.StatusServiceUnavailable)
			return
		}
		defer held.give(name)
		if r.ContentLength != 0 {
			c := http.NewResponseController(w)
			_ = c.SetReadDeadline(time.Now().Add(bodyWait))
			r.Body = &whole{r.Body, c}
		}
		h.ServeHTTP(w, r)
	})
}

// Watched is h; refused takes a line for each request that was not answered. One that came to the wrong one of several
// controllers goes to the right one, as each verb's may.
func Watched(h http.Handler, refused func(string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked(r.Context())
		a := &answer{ResponseWriter: w}
		h.ServeHTTP(a, r)
		if a.code >= http.StatusBadRequest && a.code != http.StatusMisdirectedRequest {
			refused(fmt.Sprintf("request of %s for %.200q refused: %d %s", peerOf(r.TLS, r.RemoteAddr), r.URL.Path, a.code, http.StatusText(a.code)))
		}
	})
}

// peerOf names a peer whose certificate may name nobody.
func peerOf(s *tls.ConnectionState, addr string) string {
	if s != nil && len(s.PeerCertificates) > 0 {
		if id, err := mtls.IdentityOf(s.PeerCertificates[0]); err == nil {
			return fmt.Sprintf("%s at %s", id, addr)
		}
	}
	return addr
}

// answer remembers its status.
type answer struct {
	http.ResponseWriter
	code int
}

func (a *answer) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

// Flush is for streams; Unwrap for deadlines.
func (a *answer) Flush()                      { _ = http.NewResponseController(a.ResponseWriter).Flush() }
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// whole is a body that has no deadline once all of it came: over HTTP/1.1 it would end the response, too.
type whole struct {
	io.ReadCloser
	c *http.ResponseController
}

func (b *whole) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.c.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Bounded is l with a limit of connections from one address: what is beyond is closed at once.
func Bounded(l net.Listener, refused func(string)) net.Listener {
	return &bounded{Listener: l, held: counts{most: maxConns}, refused: refused}
}

type bounded struct {
	net.Listener
	held    counts
	refused func(string)
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := holder(c.RemoteAddr())
		if b.held.take(from) {
			return &held{Conn: c, give: sync.OnceFunc(func() { b.held.give(from) })}, nil
		}
		b.refused(fmt.Sprintf("connection from %s refused: it has %d", from, b.held.most))
		_ = c.Close()
	}
}

// holder is what an address's owner has: of IPv6 a /64.
func holder(a net.Addr) string {
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

type held struct {
	net.Conn
	give func()
	talk talk
}

func (c *held) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.talk.heard(n)
	return n, err
}

func (c *held) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.talk.told.Add(int64(n))
	return n, err
}

func (c *held) Close() error {
	c.give()
	return c.Conn.Close()
}
