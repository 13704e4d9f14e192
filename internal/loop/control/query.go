package control

import (
	"context"
	"fmt"
)

// Query names a request and the types of request and response. Both ends use the same
// value, so they cannot disagree. Q and A must survive JSON.
type Query[Q, A any] struct {
	Name string // path below /v1/
	// Acts marks a query that changes something: POST only, and logged with the peer's
	// credentials.
	Acts bool
	plan bool // the request has a plan file
}

// None is the request or the response of a query that has none.
type None struct{}

const pathHead = "/v1/"

// Handle makes h answer q with fn. Call it before the first request.
func Handle[Q, A any](h *Handler, q Query[Q, A], fn func(context.Context, Q) (A, error)) {
	h.route(q.Name, route{acts: q.Acts, plan: q.plan, arg: argOf[Q], fn: func(ctx context.Context, body []byte) (any, error) {
		var in Q
		if err := decode(body, &in); err != nil {
			return nil, &Error{Text: fmt.Sprintf("read request: %.200s", err), Code: BadRequest} // it may quote all of it
		}
		return fn(ctx, in)
	}})
}

// Ask sends q to the server behind c and waits for [Client.Timeout]. An [*Error] is the
// server's; [ErrNotRunning] means that there is none, [*NoAnswer] that it sent nothing.
func Ask[Q, A any](ctx context.Context, c *Client, q Query[Q, A], in Q) (out A, err error) {
	err = c.call(ctx, q.Name, q.Acts, in, &out)
	return out, err
}
