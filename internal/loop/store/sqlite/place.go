package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrGone means that the file of an open store is no longer at its path. Writing would go
// on, into a file that has no name and ends with the process.
var ErrGone = errors.New("store deleted or replaced while it was open")

// InPlace reports whether the store's file and its log are still those that were opened.
func (s *Store) InPlace() error {
	for _, f := range []struct {
		path string
		was  os.FileInfo
	}{{s.path, s.file}, {s.path + "-wal", s.wal}} {
		if f.was == nil {
			continue
		}
		now, err := os.Stat(f.path)
		if err == nil && os.SameFile(now, f.was) {
			continue
		}
		if err == nil {
			err = errors.New("another file is there")
		}
		return fmt.Errorf("store %s: %w: %s: %w; nothing more is kept: put the file back, or restart congctl, which goes on from what is there", s.path, ErrGone, f.path, err)
	}
	return nil
}

// note remembers which files were opened. The log exists from the first connection of the
// writer on, and as long as it has one.
func (s *Store) note() (err error) {
	if s.file, err = os.Stat(s.path); err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	if s.wal, err = os.Stat(s.path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		s.wal, err = nil, nil
	}
	return err
}
