package spool

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// reader is where the delivery is.
type reader struct {
	number uint64
	file   *os.File
	in     *bufio.Reader
	batch  []byte // read and not delivered
}

// More is ready when a batch may have been written.
func (s *Spool) More() <-chan struct{} { return s.more }

// Next returns the oldest batch, nil if there is none, until it is Delivered. Its bytes are valid
// until then.
func (s *Spool) Next() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.segments) > 0 {
		if s.segments[0].batches == 0 {
			if s.file != nil && len(s.segments) == 1 && s.segments[0].bytes == 0 {
				return nil, nil
			}
			s.remove()
			continue
		}
		if err := s.read(); err != nil {
			// The rest of the segment cannot be found.
			s.dropOldest()
			return nil, fmt.Errorf("read spool: %w", err)
		}
		return s.reading.batch, nil
	}
	return nil, nil
}

func (s *Spool) read() error {
	r := s.reading
	if r == nil {
		f, err := os.Open(s.path(s.segments[0].number))
		if err != nil {
			return err
		}
		r = &reader{number: s.segments[0].number, file: f, in: bufio.NewReader(f)}
		s.reading = r
	}
	if r.batch != nil {
		return nil
	}
	size, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err
	}
	if size > uint64(s.segments[0].bytes) {
		return fmt.Errorf("a batch of %d bytes in a segment of %d", size, s.segments[0].bytes)
	}
	r.batch = make([]byte, size)
	_, err = io.ReadFull(r.in, r.batch)
	return err
}

// Delivered forgets the batch that Next returned, unless it has been dropped meanwhile.
func (s *Spool) Delivered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Delivered++
	if s.reading == nil || s.reading.batch == nil {
		return
	}
	s.reading.batch = nil
	s.segments[0].batches--
	s.status.Waiting--
}

// frameBytes is the length of a batch with its own length.
func frameBytes(b []byte) int64 {
	return int64(len(b) + len(binary.AppendUvarint(nil, uint64(len(b)))))
}
