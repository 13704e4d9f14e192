package control

import (
	"errors"
	"net/http"
	"strings"
)

// Error crosses the socket. Hint is the next command or step to try.
type Error struct {
	Text string `json:"error"`
	Hint string `json:"hint,omitempty"`
	Code Code   `json:"code"`
}

func (e *Error) Error() string { return e.Text }

// Code is the kind of error, for programs.
type Code string

// Codes, each with its HTTP status below.
const (
	BadRequest  Code = "bad-request" // the request is wrong: a syntax, an unknown field, a bad value
	NotFound    Code = "not-found"   // no such query, prefix or plan
	Refused     Code = "refused"     // checked and refused: a plan with a fault
	Conflict    Code = "conflict"    // not possible in this state: frozen, stopped
	TooLarge    Code = "too-large"
	BadMethod   Code = "bad-method"
	Forbidden   Code = "forbidden"   // not with this certificate or token
	TooLate     Code = "too-late"    // the deadline has passed: nothing was changed
	Unavailable Code = "unavailable" // not yet or no longer: starting, draining
	Elsewhere   Code = "elsewhere"   // not of this process: another controller decides
	Unstored    Code = "unstored"    // a stop that holds, as far as the text says, and is not stored yet
	Exhausted   Code = "exhausted"   // its caller has had its share: later
	Internal    Code = "internal"
)

var statuses = map[Code]int{
	BadRequest: http.StatusBadRequest, NotFound: http.StatusNotFound, Conflict: http.StatusConflict,
	Refused:  http.StatusUnprocessableEntity,
	TooLarge: http.StatusRequestEntityTooLarge, BadMethod: http.StatusMethodNotAllowed, Forbidden: http.StatusForbidden,
	TooLate: http.StatusRequestTimeout, Unavailable: http.StatusServiceUnavailable, Internal: http.StatusInternalServerError, Elsewhere: http.StatusMisdirectedRequest,
	Unstored: http.StatusServiceUnavailable, Exhausted: http.StatusTooManyRequests,
}

// mostText bytes of an error are answered: a plan's 20 faults have fewer, and what a caller wrote is in it.
const mostText = 4 << 10

// asError makes any error fit for the socket.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		whole := *e
		whole.Text = cut(err.Error()) // with what wraps it
		if statuses[whole.Code] == 0 {
			whole.Code = Internal
		}
		return &whole
	}
	return &Error{Text: cut(err.Error()), Code: Internal}
}

func cut(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "..."
}

// ErrNotRunning means that no congctl answers on the socket.
var ErrNotRunning = errors.New("no congctl is running here")

// ErrRunning means that another congctl answers on the socket.
var ErrRunning = errors.New("another congctl answers on this socket")
