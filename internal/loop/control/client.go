package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// Client asks the server on a unix socket. Each request has a connection of its
// own and a deadline. Several goroutines may use it.
type Client struct {
	// Timeout is how long the server may take to answer; 0: [DefaultTimeout].
	Timeout time.Duration
	// Bearer reads the token to show; nil: none.
	Bearer func() (string, error)
	path   string   // of the socket
	bases  []string // URLs, asked in this order until one answers
	remote bool     // another host's: its clock is not ours, so an action has no deadline there
	http   *http.Client
	server atomic.Int32 // pid of the process that listens
}

// NewClient makes a client; it dials nothing before the first request.
func NewClient(path string) *Client {
	c := &Client{path: path, bases: []string{"http://congctl"}}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:           c.dial,
		DisableKeepAlives:     true,          // a connection that the server has closed since must not fail an action
		ExpectContinueTimeout: math.MaxInt64, // the body must not leave without the server's word: see deadline.go
	}}
	return c
}

// NewRemote makes a client of a handler at URLs of other hosts, over connections that dial makes. It asks the next one
// where one is away, or says that it is [Elsewhere] or that a stop is [Unstored]: a stop may be asked of all.
func NewRemote(urls []string, dial func(ctx context.Context, network, address string) (net.Conn, error)) *Client {
	return &Client{bases: urls, remote: true, http: &http.Client{Transport: &http.Transport{
		DialTLSContext: dial, ForceAttemptHTTP2: true, DisableKeepAlives: true, ExpectContinueTimeout: math.MaxInt64,
	}}}
}

func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.path)
	for errors.Is(err, syscall.EAGAIN) && ctx.Err() == nil { // a flood fills the queue, which a server that runs empties
		time.Sleep(10 * time.Millisecond)
		conn, err = d.DialContext(ctx, "unix", c.path)
	}
	if err != nil {
		return nil, err
	}
	if p, ok := peer(conn); ok {
		c.server.Store(p.PID)
	}
	return conn, nil
}

func (c *Client) call(ctx context.Context, name string, acts bool, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("ask %s: %w", name, err)
	}
	var away []error
	code := Unavailable
	for _, base := range c.bases {
		next, err := c.callAt(ctx, base, name, acts, body, out)
		if err == nil || len(c.bases) == 1 || !next && code != Unstored {
			return err
		}
		away = append(away, fmt.Errorf("%s: %w", base, err))
		if said := (*Error)(nil); errors.As(err, &said) && said.Code == Unstored {
			code = Unstored
		}
		if !next || ctx.Err() != nil {
			break
		}
	}
	return &Error{Text: errors.Join(away...).Error(), Code: code}
}

// callAt asks one server. next reports that another may be asked: this one does not answer for it, and has not acted and
// never will, or it could not store a stop.
func (c *Client) callAt(ctx context.Context, base, name string, acts bool, body []byte, out any) (next bool, err error) {
	until, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	word := &consent{body: bytes.NewReader(body)}
	send := word.body // one write with its header: a server that answers before it has read all closes nothing half written
	if acts {
		send = word
	}
	req, err := http.NewRequestWithContext(until, http.MethodPost, base+pathHead+name, send)
	if err != nil {
		return false, fmt.Errorf("ask %s: %w", name, err)
	}
	req.ContentLength = int64(len(body))
	if c.Bearer != nil {
		secret, err := c.Bearer()
		if err != nil {
			return false, err
		}
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	defer c.limit(req, word, acts, cancel)()
	answer, err := c.answer(req)
	if err == nil {
		// Unknown fields pass: an answer of a newer server stays readable.
		err = json.Unmarshal(answer, out)
	}
	if err == nil {
		return false, nil
	}
	taken := acts && !word.withdraw()
	var said *Error
	answered := errors.As(err, &said) && said.Code != Elsewhere
	if answered && said.Code == Unstored {
		return true, said
	}
	return !taken && !answered, c.explain(err, base, until, acts, taken)
}

// limit gives req its deadline. The caller calls the result when it has the answer.
func (c *Client) limit(req *http.Request, word *consent, acts bool, cancel context.CancelCauseFunc) (stop func()) {
	within := c.within()
	if !acts {
		late := time.AfterFunc(within, func() { cancel(fmt.Errorf("within %s", within)) })
		return func() { late.Stop() }
	}
	bind(req, within, c.remote)
	first := time.AfterFunc(within, func() {
		if word.withdraw() {
			cancel(fmt.Errorf("within %s", within))
		}
	})
	last := time.AfterFunc(within+grace, func() { cancel(fmt.Errorf("within %s", within+grace)) })
	return func() { first.Stop(); last.Stop() }
}

func (c *Client) within() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

func (c *Client) answer(req *http.Request) ([]byte, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, readError(res)
	}
	return io.ReadAll(res.Body)
}

// explain says what an error means here.
func (c *Client) explain(err error, base string, until context.Context, acts, taken bool) error {
	var said *Error
	switch {
	case errors.As(err, &said) && said.Code == TooLate:
		return &NoAnswer{PID: int(c.server.Load()), Why: fmt.Sprintf("within %s", c.within()), Acts: true}
	case errors.As(err, &said):
		return said
	case c.remote && context.Cause(until) == nil:
		return &Error{Text: fmt.Sprintf("ask controller at %s: %v", base, err), Code: Unavailable}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("connect to %s: %w", c.path, ErrNotRunning)
	case errors.Is(err, fs.ErrPermission):
		return &Error{Text: fmt.Sprintf("connect to %s: permission denied", c.path),
			Hint: "use sudo, or join the group of the socket (`socket_group`)", Code: Unavailable}
	}
	silent := &NoAnswer{PID: int(c.server.Load()), Why: fmt.Sprintf("(%v)", err), Acts: acts, Taken: taken}
	switch why := context.Cause(until); {
	case errors.Is(err, syscall.EAGAIN):
		silent.Why = "(too many requests wait on its socket)"
	case errors.Is(why, context.Canceled), errors.Is(why, context.DeadlineExceeded): // the caller's, not ours
		silent.Why = "before it was interrupted"
	case why != nil:
		silent.Why = why.Error()
	}
	return silent
}

func readError(res *http.Response) error {
	var e Error
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil || e.Text == "" {
		return &Error{Text: "answered " + res.Status, Hint: "is this congctl's socket?", Code: Internal}
	}
	return &e
}
