package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// queue is a listener of connections that are there already.
type queue struct {
	net.Listener
	conns []net.Conn
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.conns) == 0 {
		return nil, io.EOF
	}
	c := q.conns[0]
	q.conns = q.conns[1:]
	return c, nil
}

type from struct {
	net.Conn
	addr   string
	closed bool
}

func (f *from) RemoteAddr() net.Addr { a, _ := net.ResolveTCPAddr("tcp", f.addr); return a }
func (f *from) Close() error         { f.closed = true; return nil }

// crowded is a bounded listener that a test fills.
type crowded struct {
	*bounded
	t *testing.T
	q *queue
}

func crowding(t *testing.T, told *lines) crowded {
	q := &queue{}
	return crowded{Bounded(q, told.add).(*bounded), t, q}
}

// comes has a connection of an address, which a caller that is known uses, or else a stranger holds.
func (c crowded) comes(addr string, known bool) (net.Conn, *from) {
	c.t.Helper()
	f := &from{addr: addr}
	c.q.conns = []net.Conn{f}
	in, err := c.Accept()
	if err != nil && !errors.Is(err, io.EOF) {
		c.t.Fatal(err)
	}
	if known && in != nil {
		settled(context.WithValue(c.t.Context(), heldKey{}, in))
	}
	return in, f
}

// TestBounded: one address, and one /64, have so many connections, and one that is closed, twice even, makes room for one.
func TestBounded(t *testing.T) {
	told := &lines{}
	b := crowding(t, told)
	var last net.Conn
	for range maxConns {
		if last, _ = b.comes("[2001:db8::1]:1000", true); last == nil {
			t.Fatal("closed below the limit")
		}
	}
	if c, f := b.comes("[2001:db8::ffff:2]:1000", true); c != nil || !f.closed || !strings.Contains(told.all(), "2001:db8::/64 refused: it has 512") {
		t.Errorf("one more of the same /64: %v, told %q", c, told.all())
	}
	if c, _ := b.comes("[2001:db8:0:1::1]:1000", true); c == nil {
		t.Error("another /64 is refused")
	}
	_, _ = last.Close(), last.Close()
	if c, _ := b.comes("[2001:db8::1]:1000", true); c == nil {
		t.Error("no room after a connection was closed")
	}
	if c, _ := b.comes("[2001:db8::1]:1000", true); c != nil {
		t.Error("closing one twice made room for two")
	}
}

// TestStrangersGo: beyond the bound the oldest stranger goes, of the address that has most, and never one that is known;
// the newest gets in, also where strangers hold all that its own address may have.
func TestStrangersGo(t *testing.T) {
	told := &lines{}
	b := crowding(t, told)
	_, agent := b.comes("192.0.2.1:1", true)
	_, lone := b.comes("192.0.2.2:1", false)
	var crowd []*from
	for i := range maxStrangers - 1 {
		_, f := b.comes(fmt.Sprintf("198.51.100.%d:1", 1+i%4), false)
		crowd = append(crowd, f)
	}
	if c, f := b.comes("192.0.2.3:1", false); c == nil || f.closed {
		t.Fatal("a newcomer is turned away")
	}
	if !crowd[0].closed || crowd[1].closed || lone.closed || agent.closed || !strings.Contains(told.all(), "198.51.100.1 refused: 512 have shown no certificate or token") {
		t.Errorf("told %q", told.all())
	}
	for range 3 * maxStrangers {
		b.comes("203.0.113.1:1", false)
	}
	if agent.closed || lone.closed {
		t.Error("a crowd of one address drives out another's")
	}
	if c, _ := b.comes("203.0.113.1:1", true); c == nil {
		t.Error("strangers hold all that the newcomer's address may have")
	}
	if n := len(b.strangers); n > maxStrangers {
		t.Errorf("%d strangers", n)
	}
	for _, s := range b.strangers {
		s.late.Stop()
	}
}

// holding serves as a controller does, and returns its address. A request to /wait ends with its caller's leave.
func holding(t *testing.T, own *mtls.Credentials, told *lines) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		fmt.Fprint(w, context.Cause(r.Context()))
	})
	tokens := secrets{"good": {Role: mtls.Operator, Name: "script", Token: true}}
	s := &http.Server{Handler: Watched(Authenticated(Limited(mux), own, tokens), told.add), TLSConfig: own.Server(), MaxHeaderBytes: 16 << 10, ReadHeaderTimeout: patience, ErrorLog: quiet}
	Unasked(s, told.add)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.ServeTLS(Bounded(l, told.add), "", "") }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

// TestStrangersBody: whatever a stranger says that it will send, it is answered without that, and its connection ends.
func TestStrangersBody(t *testing.T) {
	a, told := mtlstest.New(t), &lines{}
	addr := holding(t, open(t, a.Issue(self)), told)
	const post = "POST /x HTTP/1.1\r\nHost: x\r\n"
	for name, text := range map[string]string{
		"a body that never comes":           post + "Content-Length: 100000\r\n\r\n",
		"a body larger than is thrown away": post + "Content-Length: 100000000\r\n\r\n",
		"chunks that never come":            post + "Transfer-Encoding: chunked\r\n\r\n",
		"a chunk that ends nowhere":         post + "Transfer-Encoding: chunked\r\n\r\nffff\r\nx",
		"one that waits to be asked":        post + "Expect: 100-continue\r\nContent-Length: 100000\r\n\r\n",
		"a wrong token":                     post + "Authorization: Bearer bad\r\nContent-Length: 100000\r\n\r\n",
		"no body":                           "GET /x HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		c := strangerAt(t, addr, "http/1.1")
		_, _ = io.WriteString(c, text)
		go func() {
			for range 40 { // a byte at a time, until it is closed
				time.Sleep(250 * time.Millisecond)
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
			}
		}()
		if got := ends(c); !strings.HasPrefix(got, "HTTP/1.1 401 ") || !strings.Contains(got, "Connection: close") {
			t.Errorf("%s: %.200q", name, got)
		}
	}
}

// TestStrangersHTTP2: the same over HTTP/2, where a stranger has as many streams as it likes.
func TestStrangersHTTP2(t *testing.T) {
	a, told := mtlstest.New(t), &lines{}
	addr := holding(t, open(t, a.Issue(self)), told)
	c := strangerAt(t, addr, "h2")
	frame := func(kind, flags, stream byte, payload string) string {
		return string([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, stream}) + payload
	}
	_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+frame(4, 0, 0, ""))
	for stream := byte(1); stream < 21; stream += 2 { // POST / of x, without an end
		_, _ = io.WriteString(c, frame(1, 4, stream, "\x83\x87\x84\x41\x01x"))
	}
	if got := ends(c); strings.Contains(got, "still open") {
		t.Error("still open")
	}
	if n := strings.Count(told.all(), "401 Unauthorized"); n == 0 {
		t.Errorf("told %q", told.all())
	}
}

func strangerAt(t *testing.T, addr, protocol string) net.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ends reads until the other side ends the connection.
func ends(c net.Conn) string {
	_ = c.SetReadDeadline(time.Now().Add(2 * patience))
	b, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "still open: " + string(b)
	}
	return string(b)
}
