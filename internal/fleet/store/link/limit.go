package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

// What one peer may hold of a controller, so that none takes what the others need.
const (
	// maxRequests of one certificate's name: an agent has a stream, a batch and a report under way, and for a while
	// those of connections that broke.
	maxRequests = 16
	// bodyWait is how long a request's body may take: an agent gives up after 10 s.
	bodyWait = 30 * time.Second
)

// counts are how much of something each has.
type counts struct {
	mu   sync.Mutex // guards all below
	most int
	of   map[string]int
}

// take reports whether name may have one more.
func (c *counts) take(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[name] >= c.most {
		return false
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[name]++
	return true
}

func (c *counts) give(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[name]--; c.of[name] <= 0 {
		delete(c.of, name)
	}
}

// Limited is h for authenticated callers, each with a limit of requests under way and of time to send one.
func Limited(h http.Handler) http.Handler {
	held := &counts{most: maxRequests}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// First: the server reads what is left of a body before it sends a refusal.
		if r.ContentLength != 0 {
			c := http.NewResponseController(w)
			_ = c.SetReadDeadline(time.Now().Add(bodyWait))
			r.Body = &whole{r.Body, c}
		}
		name := Caller(r.Context()).String()
		if !held.take(name) {
			Because(r.Context(), fmt.Errorf("it has %d under way", maxRequests))
			http.Error(w, fmt.Sprintf("%d requests of %s are under way", maxRequests, name), http.StatusServiceUnavailable)
			return
		}
		defer held.give(name)
		h.ServeHTTP(w, r)
	})
}

// Watched is h; refused takes a line for each request that was not answered, and why. One that came to the wrong one of
// several controllers goes to the right one, as each verb's may.
func Watched(h http.Handler, refused func(string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked(r.Context())
		a := &answer{ResponseWriter: w}
		h.ServeHTTP(a, r.WithContext(context.WithValue(r.Context(), answerKey{}, a)))
		if a.code >= http.StatusBadRequest && a.code != http.StatusMisdirectedRequest {
			refused(fmt.Sprintf("request of %s for %.100q refused: %d %s%s", peerOf(r.TLS, r.RemoteAddr), r.URL.Path, a.code, http.StatusText(a.code), a.why()))
		}
	})
}

type answerKey struct{}

// Because adds to the line about a request why it was refused. It reports false for one that is not [Watched], which
// has no line.
func Because(ctx context.Context, err error) bool {
	a, ok := ctx.Value(answerKey{}).(*answer)
	if ok {
		a.because.Store(&err)
	}
	return ok
}

func (a *answer) why() string {
	if err := a.because.Load(); err != nil {
		return ": " + strings.ReplaceAll((*err).Error(), "\n", ": ")
	}
	return ""
}

// peerOf names a peer whose certificate may name nobody.
func peerOf(s *tls.ConnectionState, addr string) string {
	if s != nil && len(s.PeerCertificates) > 0 {
		if id, err := mtls.IdentityOf(s.PeerCertificates[0]); err == nil {
			return fmt.Sprintf("%s at %s", id, addr)
		}
	}
	return addr
}

// answer remembers its status.
type answer struct {
	http.ResponseWriter
	code    int
	because atomic.Pointer[error]
}

func (a *answer) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

// Flush is for streams; Unwrap for deadlines.
func (a *answer) Flush()                      { _ = http.NewResponseController(a.ResponseWriter).Flush() }
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// whole is a body that has no deadline once all of it came: over HTTP/1.1 it would end the response, too.
type whole struct {
	io.ReadCloser
	c *http.ResponseController
}

func (b *whole) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.c.SetReadDeadline(time.Time{})
	}
	return n, err
}
