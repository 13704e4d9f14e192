package control

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// An action that was reported as not done must never be done afterwards: not by a
// process that was stopped (SIGSTOP) or starved while the request waited in its
// socket, however late it goes on. A deadline that only the server checks cannot
// promise that, since the server may be stopped between the check and the act. So
// the client keeps the last word, by the means of HTTP (RFC 9110, 10.1.1):
//
//	client                                server
//	header, Expect: 100-continue  --->    waits in the socket while it is stopped
//	                              <---    100 Continue: it runs, and asks for the body
//	body                          --->    acts on a whole body only, before the deadline
//	                              <---    response
//
// Until the body leaves, the client can withdraw, and both are one compare-and-swap
// in one process (consent): whoever comes first decides. A withdrawn request has no
// body, now or later, so "nothing was changed" is certain. Once the body has left,
// only the response tells what happened. Without one the client says that it does
// not know; and so that this, too, comes to an end, the header bears the time from
// which on the server must not begin. The client waits for grace longer than that.
const (
	// DefaultTimeout: a server that runs answers within milliseconds, a status
	// while a round is written within some hundred.
	DefaultTimeout = 2 * time.Second
	// grace is for the response to an action that began at the last moment. With
	// DefaultTimeout it keeps each verb below three seconds.
	grace = 500 * time.Millisecond
	// actBy is CLOCK_BOOTTIME in nanoseconds, which no step of the wall clock moves.
	actBy = "Congctl-Act-By"
)

// NoAnswer reports that a server took the connection and sent no response.
type NoAnswer struct {
	PID   int    // of the process that listens; 0: unknown
	Why   string // for example "within 2s"
	Acts  bool   // it was asked to change something
	Taken bool   // it had been given the whole request: whether it acted is unknown
}

func (e *NoAnswer) Error() string {
	text := "the running congctl"
	if e.PID != 0 {
		text += fmt.Sprintf(" (pid %d)", e.PID)
	}
	switch {
	case e.Taken:
		return text + " took the request and did not confirm it " + e.Why + ": it is unknown whether it was carried out"
	case e.Acts:
		return text + " did not answer " + e.Why + ": nothing was changed, and nothing will be by this request"
	}
	return text + " did not answer " + e.Why
}

// States of consent.
const (
	open = iota
	given
	withdrawn
)

var errWithdrawn = errors.New("request withdrawn")

// consent is the body of an action: the server acts once it has it.
type consent struct {
	body  io.Reader
	state atomic.Int32
}

func (c *consent) Read(p []byte) (int, error) {
	if !c.state.CompareAndSwap(open, given) && c.state.Load() == withdrawn {
		return 0, errWithdrawn
	}
	return c.body.Read(p)
}

// withdraw reports whether no byte of the body has left; then none ever will.
func (c *consent) withdraw() bool {
	return c.state.CompareAndSwap(open, withdrawn) || c.state.Load() == withdrawn
}

func bootNs() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // there since Linux 2.6.39
	return t.Nano()
}

// bind makes r an action that waits for the server's word and ends after within. Another host's
// server cannot know when that is: its clock began at its own boot.
func bind(r *http.Request, within time.Duration, remote bool) {
	r.Header.Set("Expect", "100-continue")
	if remote {
		return
	}
	r.Header.Set(actBy, strconv.FormatInt(bootNs()+int64(within), 10))
}

// tooLate refuses to begin what its client has given up.
func tooLate(h http.Header) error {
	text := h.Get(actBy)
	if text == "" {
		return nil // of another client than ours
	}
	by, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return &Error{Text: fmt.Sprintf("header %s: %.40q is no number of nanoseconds", actBy, text), Code: BadRequest}
	}
	if bootNs() >= by {
		return &Error{Text: "its deadline has passed: nothing was changed", Code: TooLate}
	}
	return nil
}
