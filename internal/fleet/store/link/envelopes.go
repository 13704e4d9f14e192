package link

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Connect reads a message of a stream to its end before it says that it is too long. So the transport looks at each one's
// length (https://connectrpc.com/docs/protocol, "Enveloped-Message": a byte of flags, four of length).

var errTooLong = errors.New("it is too long")

// shortOnes is a transport whose streams end before a message of more than most bytes.
type shortOnes struct {
	http.RoundTripper
	most int
}

func (s shortOnes) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasPrefix(res.Header.Get("Content-Type"), "application/connect+") {
		res.Body = &envelopes{ReadCloser: res.Body, most: s.most}
	}
	return res, err
}

type envelopes struct {
	io.ReadCloser
	most int
	head [5]byte
	seen int // bytes of head that went on
	left int // bytes of its message
}

func (e *envelopes) Read(b []byte) (n int, err error) {
	if e.left == 0 && e.seen == 0 {
		if _, err := io.ReadFull(e.ReadCloser, e.head[:]); err != nil {
			return 0, err
		}
		size := binary.BigEndian.Uint32(e.head[1:])
		if uint64(size) > uint64(e.most) {
			return 0, errTooLong
		}
		e.left = int(size)
	}
	if e.seen < len(e.head) {
		n = copy(b, e.head[e.seen:])
		e.seen += n
	} else {
		n, err = e.ReadCloser.Read(b[:min(len(b), e.left)])
		e.left -= n
	}
	if e.seen == len(e.head) && e.left == 0 {
		e.seen = 0
	}
	return n, err
}
