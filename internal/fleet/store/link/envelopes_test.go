package link

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// TestEnvelopes: what is short enough passes unchanged, whatever the pieces in which it comes, and nothing is read of what is not.
func TestEnvelopes(t *testing.T) {
	good := []byte("\x00\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x01\x00\x00\x00\x03abc\x02\x00\x00\x00\x01x")
	long := []byte("\x00\x00\x00\x00\x04abcd")
	for name, pieces := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "bytes": iotest.OneByteReader, "with its end": iotest.DataErrReader,
	} {
		read := func(b []byte) (rest int, got []byte, err error) {
			r := bytes.NewReader(b)
			got, err = io.ReadAll(&envelopes{ReadCloser: io.NopCloser(pieces(r)), most: 3})
			return r.Len(), got, err
		}
		if _, got, err := read(good); err != nil || !bytes.Equal(got, good) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, got, err := read(good[:len(good)-3]); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != len(good)-6 {
			t.Errorf("%s, cut in a head: %q, %v", name, got, err)
		}
		if rest, got, err := read(append(bytes.Clone(good), long...)); !errors.Is(err, errTooLong) || !bytes.Equal(got, good) || rest != 4 && name != "with its end" {
			t.Errorf("%s, and a long one: %q, %v; %d bytes are not read", name, got, err, rest)
		}
	}
}
