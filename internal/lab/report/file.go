package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

// replace writes a file whole or not at all: an interrupted run must not leave half
// of a cell that the next one takes for finished.
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

func replaceBytes(path string, b []byte) error {
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
	return replaceBytes(path, append(b, '\n'))
}

// maxFile bounds a file of a result: a day's facts have some MB, the largest run 60 MB.
const maxFile = 1 << 30

func readJSON(path string, v any) error {
	b, err := plainfile.Read(path, maxFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("decode %s: %w", path, err)
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

func unpack(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
