package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/netns"
)

// The server is a process of its own, since eBPF on a cgroup sees the sockets of
// the processes inside: `congctl-demo serve` runs in the edge's namespace and in
// the demo's cgroup, serves /bytes/N, and prints a response line for each.

const serverPort = 80

// serve is the child's main. It ends with SIGTERM or with its standard output.
func serve(stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	s := newServer(stdout)
	var wg sync.WaitGroup
	fail := make(chan error, 2)
	for _, a := range []netip.Addr{netns.EdgeAddr4, netns.EdgeAddr6} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", netip.AddrPortFrom(a, serverPort).String())
		if err != nil {
			return fmt.Errorf("listen on the edge: %w", err)
		}
		wg.Go(func() {
			if err := s.http.Serve(l); err != http.ErrServerClosed {
				fail <- err
			}
		})
	}
	fmt.Fprintln(stdout, readyLine)
	var err error
	select {
	case <-ctx.Done():
	case err = <-fail:
	}
	_ = s.http.Close() // connections of the load are cut: the demo is over
	wg.Wait()
	return err
}

const readyLine = "ready"

// server answers and writes down.
type server struct {
	http *http.Server

	mu      sync.Mutex // guards out and largest
	out     *json.Encoder
	largest map[net.Conn]int
}

type connKey struct{}

func newServer(out io.Writer) *server {
	s := &server{out: json.NewEncoder(out), largest: map[net.Conn]int{}}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bytes/{n}", s.bytes)
	s.http = &http.Server{
		Handler: mux, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				s.mu.Lock()
				delete(s.largest, c)
				s.mu.Unlock()
			}
		},
	}
	return s
}

const maxBytes = 16 << 20

func (s *server) bytes(w http.ResponseWriter, q *http.Request) {
	n, err := strconv.Atoi(q.PathValue("n"))
	conn, ok := q.Context().Value(connKey{}).(*net.TCPConn)
	if err != nil || n < 0 || n > maxBytes || !ok {
		http.Error(w, "a number of bytes, at most 16 MiB", http.StatusBadRequest)
		return
	}
	r := response{Remote: remoteOf(conn), Proto: q.Proto, Bytes: n, Earlier: s.seen(conn, n), Start: time.Now().UnixNano()}
	before, err := inspect(conn)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(n))
	_, err = io.CopyN(w, zeros{}, int64(n))
	_ = http.NewResponseController(w).Flush()
	r.Whole = acknowledged(q.Context(), conn) && err == nil
	after, err := inspect(conn)
	if err != nil {
		return
	}
	r.End, r.Before, r.Cookie = time.Now().UnixNano(), before.cong, before.cookie
	after.fill(&r)
	s.print(r)
}

// seen gives the largest body so far on a connection, and counts this one.
func (s *server) seen(c net.Conn, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	earlier := s.largest[c]
	s.largest[c] = max(earlier, n)
	return earlier
}

func (s *server) print(r response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(r); err != nil {
		os.Exit(1) // nobody listens any more
	}
}

func remoteOf(c net.Conn) netip.Addr { return c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap() }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
