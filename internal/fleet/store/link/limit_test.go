package link

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// lines takes what is logged.
type lines struct {
	mu   sync.Mutex // guards text
	text []string
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, s)
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.text, "\n")
}

// TestLimited: a certificate has so many requests under way, another certificate still has all of its own, and what
// ended makes room.
func TestLimited(t *testing.T) {
	a, told := mtlstest.New(t), &lines{}
	hold, entered := make(chan struct{}), make(chan struct{}, 2*maxRequests)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { entered <- struct{}{}; <-hold })
	s := httptest.NewUnstartedServer(Watched(Authenticated(Limited(h, told.add), secrets{}), told.add))
	s.TLS, s.EnableHTTP2 = open(t, a.Issue(self)).Server(), true
	s.StartTLS()
	t.Cleanup(s.Close)
	get := func(dial Dial) int {
		c := &http.Client{Transport: &http.Transport{DialTLSContext: dial, ForceAttemptHTTP2: true}}
		defer c.CloseIdleConnections()
		res, err := c.Get(s.URL)
		if err != nil {
			t.Error(err)
			return 0
		}
		res.Body.Close()
		return res.StatusCode
	}
	first, other := host, host
	other.Name = "edge-2"
	mine, theirs := open(t, a.Issue(first)).Dial, open(t, a.Issue(other)).Dial
	var all sync.WaitGroup
	held := func(dial Dial) {
		all.Go(func() {
			if code := get(dial); code != http.StatusOK {
				t.Errorf("answered %d", code)
			}
		})
		<-entered
	}
	for range maxRequests {
		held(mine)
	}
	if code := get(mine); code != http.StatusServiceUnavailable || !strings.Contains(told.all(), "congctl://agent/chi/edge-1 refused: it has 16 under way") {
		t.Errorf("one more: %d; told %q", code, told.all())
	}
	held(theirs)
	close(hold)
	all.Wait()
	held(mine)
	all.Wait()
}

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

// TestBounded: one address, and one /64, have so many connections, and one that is closed, twice even, makes room for one.
func TestBounded(t *testing.T) {
	told := &lines{}
	q := &queue{}
	b := Bounded(q, told.add)
	accept := func(addr string) (net.Conn, *from) {
		f := &from{addr: addr}
		q.conns = []net.Conn{f}
		c, err := b.Accept()
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return c, f
	}
	var last net.Conn
	for range maxConns {
		if last, _ = accept("[2001:db8::1]:1000"); last == nil {
			t.Fatal("closed below the limit")
		}
	}
	if c, f := accept("[2001:db8::ffff:2]:1000"); c != nil || !f.closed || !strings.Contains(told.all(), "2001:db8::/64 refused") {
		t.Errorf("one more of the same /64: %v, told %q", c, told.all())
	}
	if c, _ := accept("[2001:db8:0:1::1]:1000"); c == nil {
		t.Error("another /64 is refused")
	}
	_, _ = last.Close(), last.Close()
	if c, _ := accept("[2001:db8::1]:1000"); c == nil {
		t.Error("no room after a connection was closed")
	}
	if c, _ := accept("[2001:db8::1]:1000"); c != nil {
		t.Error("closing one twice made room for two")
	}
}
