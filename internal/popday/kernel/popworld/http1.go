package popworld

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// HTTP/1.1 as the clients speak it. The body is thrown away in the kernel (MSG_TRUNC),
// and the client wakes up once for many packets (SO_RCVLOWAT): both cost instructions,
// which are time in a machine that counts them.

const (
	requestWithin = 5 * time.Minute // 20 MB at 1 Mbit/s take half of it
	// lowat in bytes: eleven packets, a quarter of the smallest window that a client
	// announces, so what waits to be read never closes it.
	lowat   = 16 << 10
	maxHead = 4 << 10
)

// get requests n bytes and waits for the last; got counts the bytes of the body that
// arrived.
func (s *socket) get(target string, n uint64, first func()) (got uint64, err error) {
	if err := s.file.SetDeadline(time.Now().Add(requestWithin)); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(s, "GET %s HTTP/1.1\r\nHost: edge\r\n\r\n", target); err != nil {
		return 0, err
	}
	length, got, err := s.head(first)
	if err != nil || length != n {
		return got, errors.Join(err, fmt.Errorf("read head: content length %d, requested %d", length, n))
	}
	for got < n {
		more, err := s.skip(n - got)
		if err != nil {
			return got, err
		}
		got += more
	}
	return got, nil
}

// head reads up to the end of the header, and counts the part of the body that came with
// it.
func (s *socket) head(first func()) (length, body uint64, err error) {
	var text [maxHead]byte
	if err := s.setLowat(1); err != nil {
		return 0, 0, err
	}
	for have := 0; have < len(text); {
		n, err := s.Read(text[have:])
		if err != nil {
			return 0, 0, err
		}
		if have == 0 {
			first()
		}
		have += n
		if head, rest, ok := bytes.Cut(text[:have], []byte("\r\n\r\n")); ok {
			length, err = contentLength(head)
			return length, uint64(len(rest)), err
		}
	}
	return 0, 0, fmt.Errorf("read head: longer than %d bytes", maxHead)
}

var lengthKey = []byte("\r\nContent-Length: ")

func contentLength(head []byte) (uint64, error) {
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		line, _, _ := bytes.Cut(head, []byte("\r\n"))
		return 0, fmt.Errorf("read head: %q", line)
	}
	_, value, _ := bytes.Cut(head, lengthKey)
	value, _, _ = bytes.Cut(value, []byte("\r\n"))
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read head: content length: %w", err)
	}
	return n, nil
}

// skip waits for some of the left bytes and throws them away.
func (s *socket) skip(left uint64) (n uint64, err error) {
	if err := s.setLowat(int(min(left, lowat))); err != nil {
		return 0, err
	}
	got, err := s.discard(int(min(left, 1<<20)))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return uint64(got), err
}

func (s *socket) setLowat(n int) error {
	if n == s.lowat || s.lowat == 0 {
		return nil
	}
	s.lowat = n
	return s.silent.setLowat(n)
}
