package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/config"
)

// A flood is what one user does with many connections of the page's port; each returns when its connection has ended.
var floods = map[string]func(c net.Conn){
	"idle": func(c net.Conn) { // one answer, then nothing
		_, _ = io.WriteString(c, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	},
	"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
	"slow readers": func(c net.Conn) {
		_, _ = io.WriteString(c, "GET /api/pop/chi/v1/prefixes HTTP/1.1\r\nHost: localhost\r\n\r\n")
		readSlowly(c)
	},
	"slow headers": func(c net.Conn) {
		for range 1000 {
			if _, err := io.WriteString(c, "G"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	},
	"followers": func(c net.Conn) {
		_, _ = io.WriteString(c, "GET "+livePath+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	},
	"slow bodies": func(c net.Conn) {
		_, _ = io.WriteString(c, "POST /api/pop/chi/v1/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	},
}

func readSlowly(c net.Conn) {
	for b := make([]byte, 1); ; time.Sleep(10 * time.Millisecond) {
		if _, err := c.Read(b); err != nil {
			return
		}
	}
}

// TestFloodOfThePage: 300 connections of one user, opened again whenever they end, and each probe and scrape, on a
// connection of its own, gets its answer; so does a page that another user follows, all the time.
func TestFloodOfThePage(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to flood as another user than the one that asks; minimum kernel 3.3 for sock_diag")
	}
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			b := openBoard(t, 20_000, config.Default())
			f := b.follow(t, "")
			_, err := f.next()
			check(t, err)
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer stop()
			for range 300 {
				all.Go(func() { holdOpen(ctx, strings.TrimPrefix(b.url, "http://"), flood) })
			}
			for range 11 {
				for _, path := range []string{"/healthz", "/metrics", "/api/desk"} {
					res, err := (&http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}).Get(b.url + path)
					if err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					check(t, res.Body.Close())
					if res.StatusCode != http.StatusOK {
						t.Errorf("%s: %d", path, res.StatusCode)
					}
				}
				time.Sleep(50 * time.Millisecond)
			}
			_, err = f.next()
			check(t, err)
			for _, query := range []string{"prefixes", "rounds"} {
				if status, text := b.ask(t, "/api/pop/chi/v1/"+query, ""); status != http.StatusOK {
					t.Errorf("%s: %d %.200s", query, status, text)
				}
			}
		})
	}
}

// holdOpen floods with one connection at a time until ctx ends, in the name of another user.
func holdOpen(ctx context.Context, address string, flood func(net.Conn)) {
	for ctx.Err() == nil {
		c, err := dialAsNobody(address)
		if err != nil {
			continue
		}
		ended := context.AfterFunc(ctx, func() { _ = c.Close() })
		flood(bufferless(c))
		ended()
		_ = c.Close()
		time.Sleep(10 * time.Millisecond)
	}
}

// bufferless takes little of an answer, so that its writer waits.
func bufferless(c net.Conn) net.Conn {
	_ = c.(*net.TCPConn).SetReadBuffer(4096)
	return c
}

const nobody = 65534

// dialAsNobody makes the socket on a thread whose files are another user's.
func dialAsNobody(address string) (net.Conn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, nobody, 0, 0)
	defer func() { _, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0) }()
	return net.Dial("tcp", address)
}

// TestHolderOfAConnection: it is the user's, whichever address of loopback he takes.
func TestHolderOfAConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	who := map[string]bool{}
	for _, dial := range []func(string) (net.Conn, error){
		dialAsNobody,
		func(to string) (net.Conn, error) {
			return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, 2, 3)}}).Dial("tcp", to)
		},
	} {
		c, err := dial(l.Addr().String())
		check(t, err)
		defer c.Close()
		here, err := l.Accept()
		check(t, err)
		defer here.Close()
		h := webHolder(here)
		if who[h.Name] = true; !strings.HasPrefix(h.Name, "uid ") || h.Root != (h.Name == "uid 0") {
			t.Errorf("%+v", h)
		}
	}
	if want := map[bool]int{true: 2, false: 1}[os.Getuid() == 0]; len(who) != want {
		t.Errorf("%v", who)
	}
}
