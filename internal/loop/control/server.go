package control

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
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
	maxHeader       = 8 << 10
	drain           = 2 * time.Second // of the 5 s in which the process must end
)

// Server answers queries on a unix socket.
type Server struct {
	*Handler
	opt    Options
	listen *net.UnixListener
	file   fs.FileInfo
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
	return &Server{Handler: NewHandler(opt.Log, requester), opt: opt, listen: l, file: info}, nil
}

// Serve answers until ctx ends, lets requests in progress finish for two seconds, and
// removes the socket. It runs once.
func (s *Server) Serve(ctx context.Context) error {
	defer s.remove()
	hs := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.opt.Patience,
		ReadTimeout:       s.opt.Patience,
		WriteTimeout:      answerFactor * s.opt.Patience,
		IdleTimeout:       answerFactor * s.opt.Patience,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       withPeer,
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
	}
	slots := &Slots{Listener: s.listen, Most: maxConns, Whose: process}
	hs.ConnState = slots.Turned
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(slots) }()
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
