package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/congctl/congctl/internal/loop/plan"
)

// maxBody in bytes of a request; all but a plan file are a prefix and a few numbers.
const maxBody = 64 << 10

// Handler answers queries; whose they are is its caller's matter.
type Handler struct {
	// PlanEntries is the most that a plan has which is pushed or compared; 0: as many as a file holds.
	PlanEntries int

	refused   func(context.Context, Act) // logs it
	requester func(context.Context) string
	routes    map[string]route
	audit     func(context.Context, Act) // may be nil
}

type route struct {
	acts bool
	plan bool // a request has a plan file
	fn   func(context.Context, []byte) (any, error)
	arg  func([]byte) string // of a request, for the audit
}

// NewHandler makes a handler without queries. requester names who asks, for the log and the
// events of actions.
func NewHandler(log *slog.Logger, requester func(context.Context) string) *Handler {
	return &Handler{refused: (&Refusals{Log: log}).Action, requester: requester, routes: map[string]route{}}
}

func (h *Handler) route(name string, r route) {
	if _, twice := h.routes[name]; twice {
		panic("control: two handlers for " + name)
	}
	h.routes[name] = r
}

// Acts reports whether a path is that of an action.
func (h *Handler) Acts(path string) bool { return h.routes[strings.TrimPrefix(path, pathHead)].acts }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := h.answer(w, r)
	if l, ok := answer.(interface {
		write(http.ResponseWriter) error
	}); ok && err == nil {
		err = l.write(w)
	} else if err == nil {
		err = write(w, http.StatusOK, answer)
	}
	if err != nil {
		Refuse(w, err)
	}
}

// Refuse answers a request with an error, as a handler does.
func Refuse(w http.ResponseWriter, err error) {
	e := asError(err)
	_ = write(w, statuses[e.Code], e) // only text: it always encodes
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	name, ok := strings.CutPrefix(r.URL.Path, pathHead)
	rt, known := h.routes[name]
	if !ok || !known {
		// A client that is still sending would see a closed connection and no answer. One that
		// waits for the server's word sends nothing.
		if r.Header.Get("Expect") == "" {
			_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody))
		}
		return nil, &Error{Text: fmt.Sprintf("no such query: %.100s", r.URL.Path), Hint: "congctl and the running process may be of different versions", Code: NotFound}
	}
	if r.Method != http.MethodPost && (rt.acts || r.Method != http.MethodGet) {
		return nil, &Error{Text: fmt.Sprintf("method %.20s on %s", r.Method, r.URL.Path), Hint: "use POST", Code: BadMethod}
	}
	most := h.most(rt)
	body, err := read(w, r, most)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, &Error{Text: fmt.Sprintf("request larger than %d bytes", most), Code: TooLarge}
	} else if err != nil {
		err = &Error{Text: "read request: " + err.Error(), Code: BadRequest} // a client that has gone, for one
	} else if rt.acts {
		err = tooLate(r.Header)
	}
	var answer any
	if err == nil {
		answer, err = rt.fn(r.Context(), body)
	}
	if rt.acts {
		a := Act{Name: name, Err: err}
		if e, bad := errors.AsType[*Error](err); !bad || e.Code != BadRequest { // else reading it again costs as much
			a.Arg = rt.arg(body)
		}
		h.acted(r.Context(), a)
	}
	return answer, err
}

// most returns how many bytes a request may have. The JSON of a plan has up to twice its bytes.
func (h *Handler) most(rt route) int64 {
	switch {
	case !rt.plan:
		return maxBody
	case h.PlanEntries == 0:
		return 2*plan.MaxFileBytes + maxBody
	}
	return int64(2*plan.BytesFor(h.PlanEntries)) + maxBody
}

// read reads a body into memory that is taken once: that of a plan has up to 17 MB.
func read(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength > most {
		return nil, &http.MaxBytesError{Limit: most}
	}
	into := bytes.NewBuffer(make([]byte, 0, max(0, r.ContentLength)+bytes.MinRead))
	_, err := into.ReadFrom(http.MaxBytesReader(w, r.Body, most))
	return into.Bytes(), err
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
