package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/tcp/record"
)

// server answers each request, a size in 4 bytes, with so many bytes. It runs in
// the test's own process, so that a test can look at the server's end of any
// connection.
type server struct {
	t      testing.TB
	inside func(func() error) error // enters the server's namespace
	at     map[bool]netip.AddrPort  // by IPv4 or not
	listen []net.Listener

	mu    sync.Mutex // guards conns
	conns map[netip.AddrPort]*net.TCPConn
	wait  sync.WaitGroup
}

// listenCubic sets cubic itself: a kernel whose own default is another one may
// let no new namespace default to it (tcp_allowed_congestion_control).
func listenCubic(ctx context.Context, addr netip.Addr) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
		}), err)
	}}
	return lc.Listen(ctx, "tcp", netip.AddrPortFrom(addr, 0).String())
}

func newServer(t testing.TB) *server {
	t.Helper()
	return newServerInside(t, func(fn func() error) error { return fn() })
}

func newServerInside(t testing.TB, inside func(func() error) error) *server {
	t.Helper()
	s := &server{t: t, inside: inside, at: map[bool]netip.AddrPort{}, conns: map[netip.AddrPort]*net.TCPConn{}}
	for _, a := range []netip.Addr{netns.EdgeAddr4, netns.EdgeAddr6} {
		var l net.Listener
		check(t, inside(func() (err error) {
			l, err = listenCubic(context.Background(), a)
			return err
		}))
		s.listen = append(s.listen, l)
		s.at[a.Is4()] = l.Addr().(*net.TCPAddr).AddrPort()
		s.wait.Go(func() { s.accept(l) })
	}
	t.Cleanup(s.close)
	return s
}

func (s *server) close() {
	for _, l := range s.listen {
		l.Close()
	}
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		tc := c.(*net.TCPConn)
		key := tc.RemoteAddr().(*net.TCPAddr).AddrPort()
		s.mu.Lock()
		s.conns[key] = tc
		s.mu.Unlock()
		s.wait.Go(func() {
			reply(tc)
			tc.Close()
			s.mu.Lock()
			delete(s.conns, key)
			s.mu.Unlock()
		})
	}
}

var body = make([]byte, 64<<10)

func reply(c net.Conn) {
	var ask [4]byte
	for {
		if _, err := io.ReadFull(c, ask[:]); err != nil {
			return
		}
		for n := int(binary.BigEndian.Uint32(ask[:])); n > 0; {
			w, err := c.Write(body[:min(n, len(body))])
			if err != nil {
				return
			}
			n -= w
		}
	}
}

// drained waits until the server's ends of all connections are closed, too: a close record
// is written then.
func (s *server) drained() {
	s.t.Helper()
	s.eventually("close of the server's ends", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 0
	})
}

// visitor is one client connection and its server's end.
type visitor struct {
	*net.TCPConn
	s   *server
	end *net.TCPConn
}

// dial connects from a client address and waits until the server has accepted.
func (s *server) dial(from netip.Addr) *visitor {
	s.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: patience}
	var c net.Conn
	check(s.t, s.inside(func() (err error) {
		c, err = d.Dial("tcp", s.at[from.Is4()].String())
		return err
	}))
	v := &visitor{TCPConn: c.(*net.TCPConn), s: s}
	s.t.Cleanup(func() { v.Close() })
	key := c.LocalAddr().(*net.TCPAddr).AddrPort()
	s.eventually("accept", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		v.end = s.conns[key]
		return v.end != nil
	})
	return v
}

// get asks for n bytes and reads them all.
func (v *visitor) get(n int) error {
	var ask [4]byte
	binary.BigEndian.PutUint32(ask[:], uint32(n))
	if _, err := v.Write(ask[:]); err != nil {
		return err
	}
	if err := v.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, v, int64(n))
	return err
}

// runs is the congestion control of the server's end, read back from the kernel.
func (v *visitor) runs() (cong string) {
	v.s.t.Helper()
	withFD(v.s.t, v.end, func(fd int) (err error) {
		cong, err = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		return err
	})
	return string([]byte(cong)[:min(len(cong), max(0, indexNul(cong)))])
}

func (v *visitor) cookie() (c record.Cookie) {
	v.s.t.Helper()
	withFD(v.s.t, v.end, func(fd int) error {
		n, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
		c = record.Cookie(n)
		return err
	})
	return c
}

func indexNul(s string) int {
	for i := range len(s) {
		if s[i] == 0 {
			return i
		}
	}
	return len(s)
}

func withFD(t testing.TB, c *net.TCPConn, fn func(fd int) error) {
	t.Helper()
	raw, err := c.SyscallConn()
	check(t, err)
	var inner error
	check(t, errors.Join(raw.Control(func(fd uintptr) { inner = fn(int(fd)) }), inner))
}

// large is well past the threshold of 100,000 bytes.
const large = 600_000

// transfer downloads over a connection of its own and says what the server's end
// ran when all had arrived.
func (s *server) transfer(from netip.Addr, n int) string {
	s.t.Helper()
	v := s.dial(from)
	defer v.Close()
	if err := v.get(n); err != nil {
		s.t.Fatalf("download from %s: %v", from, err)
	}
	return v.runs()
}

// transfers runs k transfers beside each other and counts what they ran.
func (s *server) transfers(from netip.Addr, k int) map[string]int {
	s.t.Helper()
	var vs []*visitor
	for range k {
		vs = append(vs, s.dial(from))
	}
	errs := make(chan error, k)
	for _, v := range vs {
		go func() { errs <- v.get(large) }()
	}
	for range vs {
		check(s.t, <-errs)
	}
	ran := map[string]int{}
	for _, v := range vs {
		ran[v.runs()]++
		v.Close()
	}
	return ran
}

// patience bounds every wait of these tests; none of them is an expectation of
// how quick something is.
const patience = time.Minute

func (s *server) eventually(what string, ok func() bool) {
	s.t.Helper()
	eventually(s.t, what, patience, ok)
}

// eventually looks until ok. A machine that stands still between two looks takes no
// more than mostPerLook from the wait: after it, what we wait for had no time either.
func eventually(t testing.TB, what string, within time.Duration, ok func() bool) {
	t.Helper()
	const mostPerLook = 100 * time.Millisecond
	for began, waited := time.Now(), time.Duration(0); !ok(); began = time.Now() {
		if waited > within {
			t.Fatalf("%s: not within %s", what, within)
		}
		time.Sleep(5 * time.Millisecond)
		waited += min(time.Since(began), mostPerLook)
	}
}
