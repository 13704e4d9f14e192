package weblog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

// Tail reads the lines that are added to a file, through renames and truncations (logrotate's create and
// copytruncate), each once. Each Read takes what is there, up to a bound.
type Tail struct {
	path    string
	maxLine int
	room    int64           // bytes that a Read may take
	used    int64           // bytes that the last Read took
	stop    <-chan struct{} // ends a Read early

	now   *source   // the file at path; nil before there was one
	old   []*source // moved away, oldest first; a server may write to them until it ends its last response
	begun bool      // the path was looked at before
}

// NewTail follows path. It skips what the file holds at first sight, since those
// connections were not measured. It reads maxLine bytes of a line and cuts longer ones.
func NewTail(path string, maxLine int) *Tail {
	return &Tail{path: path, maxLine: maxLine, room: readBytes}
}

const (
	// maxOld files that were moved away are read on: more than a log has in an hour, unless it is moved to exhaust
	// descriptors.
	maxOld = 8
	// farBehind, in Reads: a burst is caught up in fewer.
	farBehind = 8
)

// Read calls fn with each whole new line, and its number since reading began in its
// file. A file that is not there is no error: the server has not started, or the new
// file of a rotation is not made yet. missing says so. An error is what a person should look at; Read
// goes on at the next call.
func (t *Tail) Read(fn func(number int64, line []byte)) (missing bool, err error) {
	t.used = 0
	missing, err = t.follow()
	t.again()
	for i, s := range t.old {
		err = errors.Join(err, t.drain(s, (t.room-t.used)/int64(len(t.old)-i+1), fn))
	}
	if t.now != nil {
		err = errors.Join(err, t.drain(t.now, t.room-t.used, fn))
	}
	if err != nil {
		err = fmt.Errorf("follow access log %s: %w", t.path, err)
	}
	return missing, err
}

func (t *Tail) drain(s *source, most int64, fn func(int64, []byte)) error {
	used, left, err := s.drain(most, t.stop, fn)
	t.used += used
	if err == nil && left > farBehind*readBytes {
		err = fmt.Errorf("it grows faster than it is read, %d MiB a second: its lines are late; nothing but its server may write to it", readBytes>>20)
	}
	return err
}

// follow opens the file at path if it is another one, and closes those that are done.
func (t *Tail) follow() (missing bool, err error) {
	t.old = slices.DeleteFunc(t.old, func(s *source) bool {
		done := s.done()
		if done {
			err = errors.Join(err, s.file.Close())
		}
		return done
	})
	info, serr := os.Stat(t.path)
	switch {
	case errors.Is(serr, fs.ErrNotExist):
		t.begun = true // what comes later is new from its first line
		return true, err
	case serr == nil && t.now != nil && os.SameFile(info, t.now.info):
		return false, err
	}
	f, info, oerr := openRegular(t.path)
	if oerr != nil {
		return errors.Is(oerr, fs.ErrNotExist), errors.Join(err, oerr)
	}
	return false, errors.Join(err, t.turn(f, info))
}

// turn goes on with another file. One that was moved away and is back goes on where it was.
func (t *Tail) turn(f *os.File, info fs.FileInfo) (err error) {
	if t.now != nil {
		t.old = append(t.old, t.now)
	}
	if i := slices.IndexFunc(t.old, func(s *source) bool { return os.SameFile(s.info, info) }); i >= 0 {
		t.now = t.old[i]
		t.old = slices.Delete(t.old, i, i+1)
		return f.Close()
	}
	t.now = newSource(f, info, t.maxLine)
	if !t.begun {
		t.now.toEnd()
	}
	t.begun = true
	if len(t.old) > maxOld {
		err = t.old[0].file.Close()
		t.old = slices.Delete(t.old, 0, 1)
	}
	return err
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

// again begins the present file anew if it was cut. What was added to it between the last Read and the cut is in
// the copy that copytruncate made before.
func (t *Tail) again() {
	if t.now == nil || !t.now.cut() {
		return
	}
	if s := t.copied(); s != nil {
		t.old = append(t.old, s)
	}
	t.now.again()
}

// maxNames of the log's folder are looked at for its copy.
const maxNames = 10_000

// copied returns the file beside the log, named for it, that has what was last read at the same place; nil
// without one.
func (t *Tail) copied() *source {
	dir, err := os.Open(filepath.Dir(t.path))
	if err != nil || len(t.now.mark) == 0 {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxNames) // those that could be read will do
	for _, name := range names {
		if !strings.HasPrefix(name, filepath.Base(t.path)) || name == filepath.Base(t.path) {
			continue
		}
		f, info, err := openRegular(filepath.Join(filepath.Dir(t.path), name))
		if err != nil {
			continue
		}
		s := *t.now
		if s.file, s.info = f, info; bytes.HasSuffix(s.before(), s.mark) {
			return &s
		}
		f.Close()
	}
	return nil
}

// Close closes the files.
func (t *Tail) Close() (err error) {
	if t.now != nil {
		t.old = append(t.old, t.now)
	}
	for _, s := range t.old {
		err = errors.Join(err, s.file.Close())
	}
	t.now, t.old = nil, nil
	return err
}
