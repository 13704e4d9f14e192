package wire

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// ErrTorn is a batch that was not written to its end, or zeros to the end of the file.
var ErrTorn = errors.New("torn")

// FrameReader reads the batches of a records file one by one, not decoded. Its memory is the longest of them.
// The zero value has nothing to read. Not for concurrent use.
type FrameReader struct {
	in    counted
	batch []byte
}

// Reset starts anew on r.
func (f *FrameReader) Reset(r io.Reader) {
	if f.in.r == nil {
		f.in.r = bufio.NewReaderSize(r, 64<<10)
	}
	f.in.r.Reset(r)
	f.in.n, f.in.err = 0, nil
}

// Next returns the next batch, without its length, and the byte behind it, counted from Reset. The bytes are used
// again by the next call. io.EOF is the end, [ErrTorn] a torn tail, [ErrDamaged] what no writer wrote; after
// an error there is no next one.
func (f *FrameReader) Next() (batch []byte, end int64, err error) {
	if f.in.r == nil {
		return nil, 0, io.EOF
	}
	start := f.in.n
	b, err := readBatch(&f.in, f.batch)
	if errors.Is(err, ErrTorn) {
		err = cmp.Or(skipTorn(&f.in), err)
	}
	if err != nil {
		return nil, start, err
	}
	f.batch = b
	return b, f.in.n, nil
}

// CountConns returns how many records a message Batch has. It looks at their frames, not into them. Anything but a
// batch is [ErrDamaged].
func CountConns(batch []byte) (int, error) {
	n, err := new(Header).decode(batch)
	if err != nil {
		return 0, fmt.Errorf("count records: %w: %w", ErrDamaged, err)
	}
	return n, nil
}
