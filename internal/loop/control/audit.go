package control

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
)

// Act is an action that somebody asked for, done or not.
type Act struct {
	By   string // the requester, as events name it
	Name string // stop, push, ...
	Arg  string // "" if it has none, or was refused unread
	Err  error  // why it was not done; nil: it was
	// Stranger is a caller that has shown nothing by which it can be known.
	Stranger bool
}

// Audit makes h report each action to keep, after it was done or refused.
func (h *Handler) Audit(keep func(context.Context, Act)) { h.audit = keep }

// Refused makes h report each action that failed to say, in place of a log of its own.
func (h *Handler) Refused(say func(context.Context, Act)) { h.refused = say }

// Deny refuses a request before it is read. One to act is reported like an action.
func (h *Handler) Deny(w http.ResponseWriter, r *http.Request, err error) {
	if h.Acts(r.URL.Path) {
		h.acted(r.Context(), Act{Name: strings.TrimPrefix(r.URL.Path, pathHead), Err: err})
	}
	Refuse(w, err)
}

// acted has what failed logged; what was done is an event, and logged as such.
func (h *Handler) acted(ctx context.Context, a Act) {
	a.By = h.requester(ctx)
	if a.Err != nil {
		h.refused(ctx, a)
	}
	if h.audit != nil {
		h.audit(context.WithoutCancel(ctx), a)
	}
}

// argOf is a request in a few words; the request of a query that acts is a Stringer or has none.
func argOf[Q any](body []byte) string {
	var q Q
	if s, ok := any(&q).(fmt.Stringer); ok && decode(body, &q) == nil {
		return s.String()
	}
	return ""
}

func (q *stopRequest) String() string {
	if q.Evict {
		return "--evict"
	}
	return ""
}

func (q *planRequest) String() string { return fmt.Sprint(q.Serial) }

// String has the sum that sha256sum prints of the file.
func (q *pushRequest) String() string {
	return fmt.Sprintf("%d bytes, sha256 %x, against plan %d", len(q.Text), sha256.Sum256([]byte(q.Text)), q.Against)
}
