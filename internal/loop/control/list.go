//go:build !small

package control

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"

	"github.com/congctl/congctl/internal/loop/policy"
)

// list is an answer that is too long to be held: an array whose elements are written as they come, each on a line.
type list func(each func(any) error) error

// listBuffer in bytes: some hundred rows.
const listBuffer = 32 << 10

// write returns an error only if nothing was sent. Later ones end the connection, so that no reader takes half an array
// for an answer.
func (l list) write(w http.ResponseWriter) error {
	out := bufio.NewWriterSize(w, listBuffer)
	enc, between := json.NewEncoder(out), byte('[')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	err := l(func(v any) error {
		err := out.WriteByte(between)
		if between = ','; err == nil {
			err = enc.Encode(v)
		}
		return err
	})
	switch {
	case err != nil && between == '[':
		return err
	case err != nil:
		panic(http.ErrAbortHandler)
	case between == '[':
		_ = out.WriteByte('[')
	}
	_, _ = out.WriteString("]\n")
	_ = out.Flush() // the peer may have left
	return nil
}

// Flow is a View that can hand out one prefix after the other: all of them, in the order of addresses.
type Flow interface {
	EachPrefix(context.Context, func(*PrefixRow) error) error // a row is used again once it is taken
}

// handlePrefixes writes row by row what is asked for in the order of addresses and whole: no more than some rows are held then.
func handlePrefixes(h *Handler, v View) {
	f, flows := v.(Flow)
	Handle(h, Query[PrefixesRequest, any]{Name: prefixesQuery.Name}, func(ctx context.Context, q PrefixesRequest) (any, error) {
		if !flows || q.Selected || len(q.States) > 0 || q.Sort != policy.ByAddress || q.Limit > 0 {
			return v.Prefixes(ctx, q)
		}
		return list(func(each func(any) error) error {
			return f.EachPrefix(ctx, func(r *PrefixRow) error { return each(r) })
		}), nil
	})
}
