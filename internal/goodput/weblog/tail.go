package weblog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

// Tail reads the lines that are added to a file, through renames (logrotate) and
// truncations (copytruncate). Each Read takes what is there.
type Tail struct {
	path    string
	maxLine int

	file   *os.File
	info   fs.FileInfo
	offset int64
	rest   []byte // of a line whose end is not written yet
	skip   bool   // the line under way is too long: up to its end
	number int64  // of the last line, in this file, from where reading began
	begun  bool   // the path was looked at before
}

// NewTail follows path. It skips what the file holds at first sight, since those
// connections were not measured. It reads maxLine bytes of a line and cuts longer ones.
func NewTail(path string, maxLine int) *Tail { return &Tail{path: path, maxLine: maxLine} }

// chunk is read at a time; lines come in runs of some hundred bytes.
const chunk = 64 << 10

// Read calls fn with each whole new line, and its number since reading began in this
// file. A file that is not there is no error: the server has not started, or the new
// file of a rotation is not made yet. missing says so.
func (t *Tail) Read(fn func(number int64, line []byte)) (missing bool, err error) {
	if t.file == nil {
		if missing, err = t.open(); missing || err != nil {
			return missing, err
		}
	}
	if err := t.drain(fn); err != nil {
		return false, err
	}
	now, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil // moved away; the server still writes to the one that is open
	case err != nil:
		return false, fmt.Errorf("follow %s: %w", t.path, err)
	case os.SameFile(now, t.info):
		return false, nil
	}
	// Between drain and Stat the server may have added its last lines.
	if err := errors.Join(t.drain(fn), t.Close()); err != nil {
		return false, err
	}
	if missing, err = t.open(); missing || err != nil {
		return missing, err
	}
	return false, t.drain(fn)
}

func (t *Tail) open() (missing bool, err error) {
	first := !t.begun
	f, info, err := openRegular(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		t.begun = true // what comes later is new from its first line
		return true, nil
	} else if err != nil {
		return false, fmt.Errorf("follow %w", err)
	}
	t.file, t.info, t.offset, t.number, t.rest, t.skip, t.begun = f, info, 0, 0, nil, false, true
	if first {
		t.offset = info.Size()
		t.skip = t.offset > 0 && !endsLine(f, t.offset)
	}
	return false, nil
}

// openRegular also looks at the file. A server that writes to a pipe is followed by no one.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := plainfile.Open(path)
	if errors.Is(err, plainfile.ErrKind) {
		return nil, nil, fmt.Errorf("%w; let the server write to a plain file", err)
	} else if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// endsLine reports whether the byte before size is a newline.
func endsLine(f *os.File, size int64) bool {
	var last [1]byte
	n, _ := f.ReadAt(last[:], size-1)
	return n == 1 && last[0] == '\n'
}

// drain reads to the end of the open file.
func (t *Tail) drain(fn func(int64, []byte)) error {
	now, err := t.file.Stat()
	if err != nil {
		return fmt.Errorf("follow %s: %w", t.path, err)
	}
	if now.Size() < t.offset { // truncated: what it holds now is new
		t.offset, t.rest, t.skip = 0, nil, false
	}
	buf := make([]byte, chunk)
	for {
		n, err := t.file.ReadAt(buf, t.offset)
		t.offset += int64(n)
		t.lines(buf[:n], fn)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("follow %s: %w", t.path, err)
		}
	}
}

func (t *Tail) lines(b []byte, fn func(int64, []byte)) {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			t.keep(b)
			return
		}
		t.keep(b[:i])
		b = b[i+1:]
		if !t.skip {
			t.number++
			fn(t.number, t.rest)
		}
		t.rest, t.skip = t.rest[:0], false
	}
}

// keep adds to the present line, up to one byte more than allowed, so that the decoder
// sees that it is too long.
func (t *Tail) keep(b []byte) {
	if room := t.maxLine + 1 - len(t.rest); len(b) > room {
		b = b[:max(room, 0)]
	}
	if !t.skip {
		t.rest = append(t.rest, b...)
	}
}

// Close closes the file.
func (t *Tail) Close() error {
	if t.file == nil {
		return nil
	}
	f := t.file
	t.file = nil
	return f.Close()
}
