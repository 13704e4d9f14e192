// Package plainfile opens files that a person named, and judges who could have written those
// that root is to believe.
//
// It knows no format: what is in a file is its reader's.
//
// Its trap: what is at a path can change between a look and the opening. So everything is asked
// of the open file, which opens without waiting: a FIFO would wait for a writer for ever.
package plainfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Open opens a plain file, also behind links. The error names what else it is.
func Open(name string) (*os.File, error) { return open(name, 0) }

func open(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|flags, 0)
	if errors.Is(err, unix.ENXIO) { // of a socket; a FIFO opens
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: a socket", ErrKind)}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: %s", ErrKind, kind(info.Mode()))}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ErrKind means that something is there, and that it is no plain file.
var ErrKind = errors.New("not a plain file")

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Read reads a plain file whole, of at most a number of bytes.
func Read(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return whole(f, most)
}

func whole(f *os.File, most int64) ([]byte, error) {
	info, err := f.Stat()
	var b bytes.Buffer
	if err == nil && info.Size() <= most { // of /proc and of one that grows it is less than what comes
		b.Grow(int(info.Size()) + bytes.MinRead)
		_, err = b.ReadFrom(io.LimitReader(f, most+1))
	}
	if err == nil && max(info.Size(), int64(b.Len())) > most {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("more than %s", size(most))}
	}
	return b.Bytes(), err
}

func size(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
