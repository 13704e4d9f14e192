package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// decode reads exactly one JSON value without unknown fields: a misspelt filter must not
// be ignored. An empty body is the zero value.
func decode(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if n := longestName(body); n > maxName {
		return fmt.Errorf("a field's name has %d bytes, at most %d", n, maxName)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// maxName bytes: three times the longest that a query has. The decoder would copy one that it does not know again and again.
const maxName = 64

// longestName returns the bytes of the longest string before a colon.
func longestName(body []byte) (most int) {
	for {
		at := bytes.IndexByte(body, '"')
		if at < 0 {
			return most
		}
		body = body[at+1:]
		n := stringEnd(body)
		after := bytes.TrimLeft(body[min(n+1, len(body)):], " \t\r\n")
		if len(after) > 0 && after[0] == ':' {
			most = max(most, n)
		}
		body = after
	}
}

// stringEnd returns where a string's quote is; an escaped one is none.
func stringEnd(s []byte) int {
	for n := 0; ; n++ {
		at := bytes.IndexAny(s[n:], `"\`)
		if at < 0 {
			return len(s)
		}
		if n += at; s[n] == '"' {
			return n
		}
		if n++; n >= len(s) {
			return len(s)
		}
	}
}
