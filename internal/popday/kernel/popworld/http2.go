package popworld

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
)

// HTTP/2 over TCP as it is (h2c), by the standard library: a share of the sessions.
type http2 struct {
	client *http.Client
	conn   *patient
	local  netip.AddrPort
}

// patient is a connection that wakes its reader once for many packets, while the body
// of a response is certain to bring that many bytes. Heads of frames come on top, so it
// never waits for what will not come.
type patient struct {
	*conn
	lowat int          // as it is set; 0: never
	got   atomic.Int64 // bytes since the request
	body  atomic.Int64 // of the response, once it has begun
}

func (p *patient) Read(b []byte) (n int, err error) {
	if want := int(min(max(p.body.Load()-p.got.Load(), 1), lowat)); p.lowat != 0 && p.lowat != want {
		p.lowat = want
		if err := p.setLowat(want); err != nil {
			return 0, err
		}
	}
	n, err = p.conn.Read(b)
	p.got.Add(int64(n))
	return n, err
}

// ask begins a request: how much comes before the body's first byte is not known.
func (p *patient) ask() {
	p.body.Store(0)
	p.got.Store(0)
}

func speakHTTP2(s *socket) (speaker, error) {
	defer s.Close() // FileConn has a descriptor of its own
	c, err := net.FileConn(s.file)
	if err != nil {
		return nil, fmt.Errorf("speak HTTP/2: %w", err)
	}
	q, err := silently(c.(*net.TCPConn))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("speak HTTP/2: %w", err), c.Close())
	}
	conn := &patient{conn: &conn{c, q}, lowat: s.lowat}
	t := &http.Transport{DisableCompression: true, MaxConnsPerHost: 1, Protocols: &http.Protocols{},
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
	t.Protocols.SetUnencryptedHTTP2(true)
	return &http2{&http.Client{Transport: t, Timeout: requestWithin}, conn, s.local}, nil
}

func (h *http2) addr() netip.AddrPort { return h.local }

func (h *http2) Close() error {
	h.client.CloseIdleConnections()
	return h.conn.Close()
}

func (h *http2) get(target string, n uint64, first func()) (got uint64, err error) {
	h.conn.ask()
	r, err := h.client.Get("http://edge" + target)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	first()
	h.conn.body.Store(int64(n))
	body, err := io.Copy(io.Discard, r.Body)
	got = uint64(body)
	if err == nil && (r.StatusCode != http.StatusOK || got != n) {
		err = fmt.Errorf("get %s: %s, %d bytes", target, r.Status, got)
	}
	return got, err
}
