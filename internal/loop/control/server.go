package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Options configure a server.
type Options struct {
	Path  string
	Group string // group that may connect; "" keeps the process's
	Log   *slog.Logger
	// Patience bounds how long a client may take to send its request; 0: 5 s. A response may
	// take twelve times that: it can be long, and is local.
	Patience time.Duration
}

const (
	defaultPatience = 5 * time.Second
	answerFactor    = 12
	maxBody         = 64 << 10 // bytes of a request; the largest is a prefix and a few numbers
	maxHeader       = 8 << 10
	drain           = 2 * time.Second // of the 5 s in which the process must end
)

// Server answers queries on a unix socket.
type Server struct {
	opt    Options
	routes map[string]route
	listen *net.UnixListener
	file   fs.FileInfo
}

type route struct {
	acts bool
	fn   func(context.Context, []byte) (any, error)
}

// Listen makes the socket. Clients can connect from now on, and are answered once Serve
// runs.
func Listen(opt Options) (*Server, error) {
	if opt.Patience == 0 {
		opt.Patience = defaultPatience
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	l, err := announce(opt.Path, opt.Group)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(opt.Path)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("listen on %s: %w", opt.Path, err)
	}
	return &Server{opt: opt, routes: map[string]route{}, listen: l, file: info}, nil
}

func (s *Server) route(name string, acts bool, fn func(context.Context, []byte) (any, error)) {
	if _, twice := s.routes[name]; twice {
		panic("control: two handlers for " + name)
	}
	s.routes[name] = route{acts, fn}
}

// Serve answers until ctx ends, lets requests in progress finish for two seconds, and
// removes the socket. It runs once.
func (s *Server) Serve(ctx context.Context) error {
	defer s.remove()
	hs := &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: s.opt.Patience,
		ReadTimeout:       s.opt.Patience,
		WriteTimeout:      answerFactor * s.opt.Patience,
		IdleTimeout:       answerFactor * s.opt.Patience,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       withPeer,
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(&slots{Listener: s.listen, max: maxConns}) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", s.opt.Path, err)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := hs.Shutdown(late); err != nil {
		_ = hs.Close()
	}
	return nil
}

func (s *Server) remove() {
	if sameFile(s.opt.Path, s.file) {
		_ = os.Remove(s.opt.Path)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(w, r)
	if err == nil {
		err = write(w, http.StatusOK, answer)
	}
	if err != nil {
		e := asError(err)
		_ = write(w, statuses[e.Code], e) // only text: it always encodes
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	name, ok := strings.CutPrefix(r.URL.Path, pathHead)
	rt, known := s.routes[name]
	if !ok || !known {
		// A client that is still sending would see a closed connection and no answer. One that
		// waits for the server's word sends nothing.
		if r.Header.Get("Expect") == "" {
			_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody))
		}
		return nil, &Error{Text: "no such query: " + r.URL.Path, Hint: "congctl and the running process may be of different versions", Code: NotFound}
	}
	if r.Method != http.MethodPost && (rt.acts || r.Method != http.MethodGet) {
		return nil, &Error{Text: "method " + r.Method + " on " + r.URL.Path, Hint: "use POST", Code: BadMethod}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, &Error{Text: fmt.Sprintf("request larger than %d bytes", maxBody), Code: TooLarge}
	} else if err != nil {
		err = &Error{Text: "read request: " + err.Error(), Code: BadRequest} // a client that has gone, for one
	} else if rt.acts {
		err = tooLate(r.Header)
	}
	var answer any
	if err == nil {
		answer, err = rt.fn(r.Context(), body)
	}
	// What was done is an event and logged as such.
	if rt.acts && err != nil {
		s.opt.Log.ErrorContext(r.Context(), name+", asked by "+requester(r.Context()), "err", err)
	}
	return answer, err
}

// write encodes all of v before it sends the first byte, so that a value that JSON does
// not have is an error and not half a response.
func write(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the peer may have left
	return nil
}
