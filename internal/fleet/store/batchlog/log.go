package batchlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/loop/store/wire"
)

// Options of a log.
type Options struct {
	Dir          string
	MaxBytes     int64 // of all segments; at it the oldest segment goes
	SegmentBytes int64 // a segment ends before it grows beyond; 0 is a sixteenth of MaxBytes, at most 8 MiB
	// Report takes each damage that was found, nil for nobody. It must not call the log.
	Report func(*Damage)
}

// maxSegment: what is dropped or read anew at once, and how much a sync may have to write.
const maxSegment = 8 << 20

// Log is a directory of segments. Several goroutines may call its methods, one of them Next and Delivered.
type Log struct {
	opt Options

	mu       sync.Mutex
	segments []*segment // oldest first
	file     *os.File   // of the last segment; nil: the next batch begins one
	next     uint64     // number of the next segment
	bytes    int64      // of all segments
	head     position   // of the next batch to deliver, in segments[0] if there is any
	empty    time.Time  // when everything was delivered last
	counts   Counts

	cursor *os.File // nil until the first delivery
	in     wire.FrameReader
	frame  []byte
	taken  taken // what Next returned last
}

// position is a place between two batches.
type position struct {
	Segment uint64
	Offset  int64
}

// Open opens a log, or makes it: the directory with mode 0700. It reads what an earlier process left, cuts off
// what that had not written to its end, and skips what is damaged: neither is an error.
func Open(o Options) (*Log, error) {
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = min(o.MaxBytes/16, maxSegment)
	}
	if o.Report == nil {
		o.Report = func(*Damage) {}
	}
	l := &Log{opt: o}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open log of batches: %w", err)
	}
	return l, nil
}

func (l *Log) open() error {
	if err := os.MkdirAll(l.opt.Dir, 0o700); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(l.opt.Dir)); err != nil {
		return err
	}
	numbers, err := l.numbers()
	if err != nil {
		return err
	}
	at := l.readCursor()
	for _, n := range numbers {
		if err := l.reopen(n, at); err != nil {
			return err
		}
	}
	// A segment is never written again after a restart, and its number never used: else a position could
	// point behind batches that came later.
	l.next = at.Segment + 1
	if n := len(numbers); n > 0 {
		l.next = max(l.next, numbers[n-1]+1)
	}
	l.trim()
	for _, s := range l.segments {
		l.counts.Kept.add(s.batches-s.gone.batches, s.records-s.gone.records)
	}
	return nil
}

// Sync returns when all that was appended is on the disk.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sync()
}

func (l *Log) sync() error {
	if l.file == nil {
		return nil // earlier segments were synced when they ended
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("sync log of batches: %w", err)
	}
	return nil
}

// Close syncs and closes it; it stays on disk.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.endSegment()
	if l.cursor != nil {
		err = errors.Join(err, l.cursor.Sync(), l.cursor.Close())
		l.cursor = nil
	}
	return err
}

// trim removes the segments that are delivered, but for the one that is being written.
func (l *Log) trim() {
	n := 0
	for _, s := range l.segments {
		if s.number > l.head.Segment || s.number == l.head.Segment && l.head.Offset < s.end || l.isOpen(s) {
			break
		}
		if err := os.Remove(l.path(s.number)); err != nil {
			break // it takes its place until the next time
		}
		l.bytes -= s.size
		n++
	}
	if n == 0 {
		return
	}
	l.segments = slices.Delete(l.segments, 0, n)
	l.rewind()
	_ = syncDir(l.opt.Dir) // a name that comes back is delivered again
}

// rewind moves the head into the oldest segment if it is before that.
func (l *Log) rewind() {
	if len(l.segments) > 0 && l.segments[0].number > l.head.Segment {
		l.head = position{Segment: l.segments[0].number}
	}
}

func (l *Log) isOpen(s *segment) bool { return l.file != nil && s == l.segments[len(l.segments)-1] }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
