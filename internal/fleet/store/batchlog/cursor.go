package batchlog

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// The cursor is one short line of fixed length in a file of its own: how far batches are delivered. It is written over
// in place, so that a full disk does not stop it, and not synced: after a crash of the host it may be an older one, and
// some batches are delivered again. A line that is torn or absent is none.

const cursorName = "delivered"

func cursorLine(at position) string {
	line := fmt.Sprintf("%020d %020d", at.Segment, at.Offset)
	return fmt.Sprintf("%s %08x\n", line, crc32.ChecksumIEEE([]byte(line)))
}

func (l *Log) writeCursor(at position) error {
	if l.cursor == nil {
		f, err := os.OpenFile(filepath.Join(l.opt.Dir, cursorName), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("keep what is delivered: %w", err)
		}
		l.cursor = f
		if err := syncDir(l.opt.Dir); err != nil {
			return fmt.Errorf("keep what is delivered: %w", err)
		}
	}
	if _, err := l.cursor.WriteAt([]byte(cursorLine(at)), 0); err != nil {
		return fmt.Errorf("keep what is delivered: %w", err)
	}
	return nil
}

// readCursor returns the zero position if there is none: everything is delivered then, again or not.
func (l *Log) readCursor() (at position) {
	f, err := os.Open(filepath.Join(l.opt.Dir, cursorName))
	if err != nil {
		return position{}
	}
	defer f.Close()
	line := make([]byte, len(cursorLine(at)))
	n, _ := f.ReadAt(line, 0)
	if _, err := fmt.Sscanf(string(line[:n]), "%d %d", &at.Segment, &at.Offset); err != nil || at.Offset < 0 || at.Segment >= 1<<63 || cursorLine(at) != string(line) {
		return position{}
	}
	return at
}
