// Package listener serves metrics and health over HTTP, and whatever else an operator reads there.
//
// It knows no metric: what collects them, and what says whether the process is well, is handed to it.
//
// Its trap: collecting takes the locks of what is collected. One collection runs at a time and its
// page is served for a second, so that many scrapers cost what one does; and a request has a limit,
// so that a collection that hangs is reported and not waited for.
package listener

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/metrics"
)

// Off is the address that serves nothing.
const Off = "off"

// Options of a server.
type Options struct {
	Key     string // of the configuration that has Address; "": metrics.listen
	Address string // host and port
	PProf   bool   // also serve profiles of the process
	Log     *slog.Logger
	Bound   func(net.Listener) Bounded // nil: as many connections as come
	Asked   func(context.Context)      // before each request, which waits for it; may be nil
}

// Bounded holds so many connections, and decides which one goes for a new one by what [http.Server.ConnState] says.
type Bounded interface {
	net.Listener
	Turned(net.Conn, http.ConnState)
}

// Source is what a server answers from.
type Source struct {
	Collect func(context.Context, *metrics.Page)
	Alive   func(context.Context) error // whether the process does its work
	Ready   func(context.Context) error // whether what it does is of use yet
}

const (
	readWait   = 5 * time.Second  // for a request, and between two on one connection: who asks seldom connects again
	answerWait = 5 * time.Second  // for its answer; a scraper gives up after 10 s
	writeWait  = 10 * time.Second // to a client that reads slowly
	profile    = 2 * time.Minute  // the longest profile
	drain      = time.Second      // of the 5 s in which the process must end
	fresh      = time.Second      // a page is served again
	maxHeader  = 8 << 10          // bytes
)

// Server answers on one port.
type Server struct {
	opt    Options
	listen net.Listener
	mux    *http.ServeMux
	ending chan struct{} // closed when Serve ends
}

// Listen takes the port. Requests wait until Serve runs.
func Listen(ctx context.Context, o Options) (*Server, error) {
	o.Key = cmp.Or(o.Key, "metrics.listen")
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s %s: %w", o.Key, o.Address, err)
	}
	return &Server{o, l, http.NewServeMux(), make(chan struct{})}, nil
}

// Addr is where it listens.
func (s *Server) Addr() string { return s.listen.Addr().String() }

// Ending is closed when the server is about to end: an answer that has no end of its own ends then.
func (s *Server) Ending() <-chan struct{} { return s.ending }

// Close gives the port back without serving.
func (s *Server) Close() error { return s.listen.Close() }

// Handle serves a pattern of [http.ServeMux] beside the metrics. It comes before Serve.
func (s *Server) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

// Serve answers until ctx ends. It runs once. Of a Source without Collect there are no metrics.
func (s *Server) Serve(ctx context.Context, from Source) error {
	if from.Collect != nil {
		pages := &pages{collect: from.Collect, turn: make(chan struct{}, 1)}
		s.mux.Handle("GET /metrics", limited(pages))
		s.mux.Handle("GET /healthz", limited(answer(from.Alive)))
		s.mux.Handle("GET /readyz", limited(answer(from.Ready)))
	}
	name, _, _ := net.SplitHostPort(s.opt.Address) // the address was listened on
	hs := &http.Server{Handler: guard(s.paced(), strings.ToLower(name)), ConnContext: withConn, ReadHeaderTimeout: readWait, ReadTimeout: readWait, WriteTimeout: writeWait, IdleTimeout: readWait,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug)}
	if s.opt.PProf {
		profiles(s.mux)
		hs.WriteTimeout = profile
	}
	l := s.listen
	if s.opt.Bound != nil {
		bounded := s.opt.Bound(l)
		l, hs.ConnState = bounded, bounded.Turned
	}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s %s: %w", s.opt.Key, s.opt.Address, err)
	case <-ctx.Done():
	}
	close(s.ending)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if hs.Shutdown(late) != nil {
		_ = hs.Close()
	}
	return nil
}

// paced asks [Options.Asked] first.
func (s *Server) paced() http.Handler {
	if s.opt.Asked == nil {
		return s.mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.opt.Asked(r.Context())
		s.mux.ServeHTTP(w, r)
	})
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Conn returns the connection of a request; nil of one that came elsewhere.
func Conn(ctx context.Context) net.Conn {
	c, _ := ctx.Value(connKey{}).(net.Conn)
	return c
}

func limited(h http.Handler) http.Handler {
	return http.TimeoutHandler(h, answerWait, "no answer within "+answerWait.String()+": what is asked for waits for a lock of the process\n")
}

// verdict is an answer about the process.
type verdict struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

func answer(check func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, status := verdict{OK: true}, http.StatusOK
		if err := check(r.Context()); err != nil {
			v, status = verdict{Reason: err.Error()}, http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	})
}

// pages makes one page at a time.
type pages struct {
	collect func(context.Context, *metrics.Page)
	turn    chan struct{} // holds one value while the fields below are in use
	last    []byte
	made    time.Time
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.turn <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	defer func() { <-p.turn }()
	if time.Since(p.made) >= fresh {
		var page metrics.Page
		p.collect(r.Context(), &page)
		p.last, p.made = page.Text(), time.Now()
	}
	kind, text := accepted(r.Header.Values("Accept")), p.last
	if kind == metrics.PlainType {
		text = metrics.Plain(text)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Vary", "Accept")
	_, _ = w.Write(text)
}
