package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// decode reads exactly one JSON value without unknown fields: a misspelt filter must not
// be ignored. An empty body is the zero value.
func decode(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
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
