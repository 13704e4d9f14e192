package link

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// listening starts a server with a limit of three seconds for a header, since a busy machine may stand still for one,
// and returns its address.
func listening(t *testing.T, a *mtlstest.Authority, told *lines) (*http.Server, string) {
	t.Helper()
	s := &http.Server{Handler: Watched(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), told.add),
		TLSConfig: open(t, a.Issue(self)).Server(), MaxHeaderBytes: 16 << 10, ReadHeaderTimeout: 3 * time.Second, ErrorLog: quiet}
	Unasked(s, told.add)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.ServeTLS(Bounded(l, told.add), "", "") }()
	t.Cleanup(func() { _ = s.Close() })
	return s, l.Addr().String()
}

// TestUnasked: what is no request has a line with its certificate's name, its address and the reason, also behind a
// request; requests, and a connection without a word, have none.
func TestUnasked(t *testing.T) {
	a, told := mtlstest.New(t), &lines{}
	s, addr := listening(t, a, told)
	mine := a.Issue(host)
	const good, more = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n"
	for name, c := range map[string]struct {
		protocol string
		says     []string
		want     string
	}{
		"two lengths":                         {"http/1.1", []string{more + "Content-Length: 4\r\nContent-Length: 40\r\n\r\n"}, "is no request"},
		"a header too long":                   {"http/1.1", []string{more + "X: " + strings.Repeat("x", 30<<10) + "\r\n\r\n"}, "its header is longer than 16384 bytes"},
		"a header without an end":             {"http/1.1", []string{more}, "no whole header came in 3s"},
		"a fault behind a request":            {"http/1.1", []string{good, "nonsense\r\n\r\n"}, "is no request"},
		"a fault sent with a request":         {"http/1.1", []string{good + "nonsense\r\n\r\n"}, "is no request"},
		"no word":                             {"http/1.1", nil, "no whole header came in 3s"},
		"a header of HTTP/2 that is too long": {"h2", []string{longHeader()}, "its header is longer than 16384 bytes"},
	} {
		if at := say(t, addr, mine, c.protocol, c.says); !told.await("congctl://agent/chi/edge-1 at "+at+" refused: ", c.want) {
			t.Errorf("%s: told %q", name, told.all())
		}
	}
	had := told.all()
	say(t, addr, mine, "http/1.1", []string{strings.Replace(good, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)})
	asks := &http.Client{Transport: &http.Transport{DialTLSContext: open(t, mine).Dial, ForceAttemptHTTP2: true}}
	for range 3 {
		res, err := asks.Get("https://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	unused, err := open(t, mine).Dial(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	unused.Close()
	asks.CloseIdleConnections()
	if err := s.Shutdown(t.Context()); err != nil { // ends once all connections have
		t.Fatal(err)
	}
	if told.all() != had {
		t.Errorf("of what is right: %q", strings.TrimPrefix(told.all(), had))
	}
}

// longHeader is the beginning of a connection of HTTP/2 (RFC 9113, RFC 7541) whose request has a header of 20 kB.
func longHeader() string {
	frame := func(kind, flags, stream byte, payload string) string {
		n := len(payload)
		return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, 0, 0, 0, stream}) + payload
	}
	field := "\x00\x01x\x7f\x91\x4d" + strings.Repeat("y", 127+0x11+0x4d<<7) // a name and a value, as they are
	return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") +
		frame(1, 1, 1, "\x82\x87\x84\x41\x01x"+field) + frame(9, 4, 1, field)
}

// say returns the address that it said it from, once the other side has ended the connection or it has no more to say.
func say(t *testing.T, to string, f mtls.Files, protocol string, texts []string) string {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tls.Dial("tcp", to, &tls.Config{Certificates: []tls.Certificate{cert}, InsecureSkipVerify: true, NextProtos: []string{protocol}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	for i, text := range texts {
		if i > 0 {
			_, _ = c.Read(make([]byte, 1<<10)) // the answer to the one before
		}
		_, _ = io.WriteString(c, text) // it may be closed under us
	}
	if protocol == "h2" {
		_ = c.SetDeadline(time.Now().Add(time.Second)) // it goes on
	}
	_, _ = io.Copy(io.Discard, c)
	return c.LocalAddr().String()
}

// await waits for a line with all parts.
func (l *lines) await(parts ...string) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for line := range strings.Lines(l.all()) {
			has := true
			for _, p := range parts {
				has = has && strings.Contains(line, p)
			}
			if has {
				return true
			}
		}
	}
	return false
}
