package wire

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Limits of a batch: it is written when either is reached.
type Limits struct {
	Conns int // default 1,000, and at most: what one poll of a small host gives
	Bytes int // default 256 KiB: a quarter of the usual message limit of brokers (1 MB)
}

const defaultBytes = 256 << 10

// Writer writes a records file: batches, each behind its length as a varint
// (the "delimited" form of every protobuf library). A file is written once, from
// start to end: after a crash the next one gets a new name, so a torn tail can
// only be at the end.
type Writer struct {
	file      *os.File
	head      Header
	limits    Limits
	addresses record.Addresses

	open   Batch
	frame  []byte
	failed error
}

// Create makes the file (mode 0600) and refuses to touch an existing one (fs.ErrExist).
// Rule a decides what is kept of remote addresses. Of head it leaves out what belongs to one batch: sequence and ends.
func Create(path string, head Header, limits Limits, a record.Addresses) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create records file: %w", err)
	}
	if limits.Conns <= 0 || limits.Conns > maxConns {
		limits.Conns = maxConns
	}
	if limits.Bytes <= 0 {
		limits.Bytes = defaultBytes
	}
	head.Sequence, head.Ends = 0, nil
	return &Writer{file: f, head: head, limits: limits, addresses: a}, nil
}

// Add puts c, its remote address redacted, into the open batch, and writes the batch when
// it is full. The caller may reuse c at once.
func (w *Writer) Add(c *record.Conn) error {
	if w.failed != nil {
		return w.failed
	}
	kept := *c
	kept.Remote = w.addresses.Redact(c.Remote)
	if err := w.open.Add(&kept); err != nil {
		return err
	}
	if n, size := w.open.Len(); n < w.limits.Conns && size < w.limits.Bytes {
		return nil
	}
	return w.Flush()
}

// Flush writes the open batch, if it holds anything, with one write. After an
// error the file may end in a torn batch; every later call returns that error.
func (w *Writer) Flush() error {
	if n, _ := w.open.Len(); w.failed != nil || n == 0 {
		return w.failed
	}
	w.head.Sequence++
	var err error
	if w.frame, err = w.open.AppendFrame(w.frame[:0], &w.head); err == nil {
		_, err = w.file.Write(w.frame)
	}
	if err != nil {
		w.failed = fmt.Errorf("write batch %d: %w", w.head.Sequence, err)
	}
	return w.failed
}

// Close flushes, syncs the file and its name to disk, and closes it.
func (w *Writer) Close() error {
	err := w.Flush()
	if serr := w.file.Sync(); serr != nil {
		err = errors.Join(err, fmt.Errorf("sync records file: %w", serr))
	}
	return errors.Join(err, w.file.Close(), syncDir(filepath.Dir(w.file.Name())))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
