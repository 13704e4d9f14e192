package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/congctl/congctl/internal/tcp/record"
)

// maxBatchBytes bounds what a reader allocates: 4 MiB, 16 times the default batch and twice what a push may have. A
// length above it is damage, not a batch.
const maxBatchBytes = 4 << 20

// Report is what a records file held.
type Report struct {
	Batches, Conns int
	TornBytes      int64 // at the end, of a batch that was not written to its end; 0 is a clean file
}

// Read calls row for each record of a records file, in order; the Conn is used
// again for the next one. A torn tail (the writer was killed, or the disk was
// full) ends the file without an error and is in the report; a damage before it
// is [ErrDamaged], with the offset of its batch. Errors of row end the reading.
func Read(r io.Reader, row func(*Header, *record.Conn) error) (Report, error) {
	conns := 0
	counting := func(h *Header, c *record.Conn) error { conns++; return row(h, c) }
	rep, err := Frames(r, func(batch []byte) error { return DecodeBatch(batch, counting) })
	rep.Conns = conns
	return rep, err
}

// Frames calls each for every batch of a records file, not decoded, with the rules of Read. The
// bytes are used again for the next one; the report counts no records.
func Frames(r io.Reader, each func(batch []byte) error) (rep Report, err error) {
	var f FrameReader
	f.Reset(r)
	for {
		start := f.in.n
		batch, _, err := f.Next()
		switch {
		case errors.Is(err, io.EOF):
			return rep, nil
		case errors.Is(err, ErrTorn):
			rep.TornBytes = f.in.n - start
			return rep, nil
		case err == nil:
			err = each(batch)
		}
		if err != nil {
			return rep, fmt.Errorf("read batch at byte %d: %w", start, err)
		}
		rep.Batches++
	}
}

// readBatch returns the next batch in buf, made longer when needed; io.EOF when
// the file ends between two. A length of zero is a torn tail: no batch is empty,
// and a file system may leave zeros where a write did not get to the disk.
func readBatch(in *counted, buf []byte) ([]byte, error) {
	size, err := binary.ReadUvarint(in)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, ErrTorn
	case errors.Is(err, io.EOF), err != nil && in.err != nil:
		return nil, err
	case err != nil || size > maxBatchBytes:
		return nil, fmt.Errorf("%w: its length is no length of a batch", ErrDamaged)
	case size == 0:
		return nil, ErrTorn
	}
	// A copy grows with the actual content, so a wrong length costs no memory.
	body := bytes.NewBuffer(buf[:0])
	n, err := io.CopyN(body, in, int64(size))
	if errors.Is(err, io.EOF) && n < int64(size) {
		return nil, ErrTorn
	}
	return body.Bytes(), err
}

// skipTorn reads to the end. Zeros must go on to there: data behind a gap is not torn but damaged.
func skipTorn(in *counted) error {
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return fmt.Errorf("%w: an empty batch with data behind it", ErrDamaged)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// counted knows how far a reader has come, and whether an error was its own.
type counted struct {
	r   *bufio.Reader
	n   int64
	err error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counted) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	} else if !errors.Is(err, io.EOF) {
		c.err = err
	}
	return b, err
}
