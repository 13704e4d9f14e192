package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

// replace writes a file whole or not at all: an interrupted run must not leave half
// of a cell that the next one takes for finished. A link at path is replaced, not followed: the
// folder may be a stranger's.
func replace(path string, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // renamed already if all went well
	err = write(tmp)
	for _, step := range []func() error{func() error { return tmp.Chmod(0o644) }, tmp.Sync} {
		if err == nil {
			err = step()
		}
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Replace writes a file whole or not at all, and through no link.
func Replace(path string, b []byte) error {
	return replace(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return Replace(path, append(b, '\n'))
}

// maxFile bounds a file of a result: the largest run has 60 MB.
const maxFile = 256 << 20

func readJSON(path string, v any) error {
	b, err := plainfile.Read(path, maxFile)
	if err != nil {
		return err
	}
	return decode(path, b, v)
}

func decode(path string, b []byte, v any) error {
	err := Objects(b)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("decode %s: %w", path, err)
	}
	return nil
}

// leastObject is the size of the smallest object that congctl writes, a probe, bytes; "{}" decodes into a
// hundred times its size.
const leastObject = 16

// Objects refuses JSON with more objects than congctl could have written in as many bytes.
func Objects(b []byte) error {
	n, read := 0, 0
	for part := range slices.Chunk(b, 64<<10) {
		n += bytes.Count(part, []byte("{")) + bytes.Count(part, []byte("null"))
		if read += len(part); n > 64+read/leastObject {
			return fmt.Errorf("%d objects in %d bytes: congctl did not write it", n, read)
		}
	}
	return nil
}

// pack compresses without a name or a time, so that the same bytes come out again.
func pack(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b) // a bytes.Buffer does not fail
	z.Close()
	return out.Bytes()
}

// fewBytes may come out of any file.
const fewBytes = 64 << 10

// Unpack returns what gzip packed into r. It ends with an error where more than ratio bytes come out for one, or
// more than maxFile in all.
func Unpack(r io.Reader, ratio int64) (io.Reader, error) {
	packed := &counted{r: r}
	z, err := gzip.NewReader(packed)
	return &unpacked{packed: packed, z: z, ratio: ratio}, err
}

type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

type unpacked struct {
	packed *counted
	z      *gzip.Reader
	ratio  int64
	n      int64
}

// Read compares as it goes, so that a bomb ends at its first kilobytes.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if u.n += int64(n); u.n > maxFile || u.n > fewBytes+u.ratio*u.packed.n {
		return 0, fmt.Errorf("unpack: %d bytes come out of %d: congctl did not write it", u.n, u.packed.n)
	}
	return n, err
}
