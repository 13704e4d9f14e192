package pop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
)

// HTTP/2 over TCP as it is (h2c), by the standard library: a share of the sessions.
type http2 struct {
	client *http.Client
	conn   net.Conn
	local  netip.AddrPort
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
	conn := &conn{c, q}
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
	r, err := h.client.Get("http://edge" + target)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	first()
	body, err := io.Copy(io.Discard, r.Body)
	got = uint64(body)
	if err == nil && (r.StatusCode != http.StatusOK || got != n) {
		err = fmt.Errorf("get %s: %s, %d bytes", target, r.Status, got)
	}
	return got, err
}
