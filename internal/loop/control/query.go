package control

import "context"

// Query names a question and the types of question and answer. The same value
// serves both ends, so that they cannot disagree. Q and A must survive JSON.
type Query[Q, A any] struct {
	Name string // path below /v1/
	// Acts marks a query that changes something: POST only, and logged with the
	// peer's credentials.
	Acts bool
}

// None is the question or the answer of a query that has none.
type None struct{}

const pathHead = "/v1/"

// Handle makes s answer q by fn. Before Serve.
func Handle[Q, A any](s *Server, q Query[Q, A], fn func(context.Context, Q) (A, error)) {
	s.route(q.Name, q.Acts, func(ctx context.Context, body []byte) (any, error) {
		var in Q
		if err := decode(body, &in); err != nil {
			return nil, &Error{Text: "read request: " + err.Error(), Code: BadRequest}
		}
		return fn(ctx, in)
	})
}

// Ask puts q to the server behind c. An [*Error] is the server's; [ErrNotRunning]
// says that there is none.
func Ask[Q, A any](ctx context.Context, c *Client, q Query[Q, A], in Q) (out A, err error) {
	err = c.call(ctx, q.Name, in, &out)
	return out, err
}
