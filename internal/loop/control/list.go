package control

import (
	"bufio"
	"encoding/json"
	"net/http"
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
