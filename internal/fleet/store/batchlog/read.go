package batchlog

import (
	"encoding/binary"
	"io"
	"os"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/loop/store/wire"
)

// taken is a batch that Next returned and that is not delivered.
type taken struct {
	at, end position
	records int
}

// Next returns the oldest frame that is not delivered, the same one until Delivered; nil if there is none. It holds
// until the next call. What it cannot read it skips and counts as dropped.
func (l *Log) Next() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		s := l.headSegment()
		if s == nil {
			l.taken = taken{}
			return nil, nil
		}
		err := l.take(s)
		if err == nil {
			return l.frame, nil
		}
		l.skip(s, err)
	}
}

// headSegment returns the segment of the next batch, nil if none waits.
func (l *Log) headSegment() *segment {
	for _, s := range l.segments {
		if s.number > l.head.Segment {
			l.head = position{Segment: s.number}
		}
		if s.number == l.head.Segment && l.head.Offset < s.end {
			return s
		}
	}
	return nil
}

func (l *Log) take(s *segment) error {
	f, err := os.Open(l.path(s.number))
	if err != nil {
		return err
	}
	defer f.Close()
	l.in.Reset(io.NewSectionReader(f, l.head.Offset, s.end-l.head.Offset))
	batch, n, err := l.in.Next()
	if err != nil {
		return err
	}
	records, err := wire.CountConns(batch)
	if err != nil {
		return err
	}
	l.frame = append(binary.AppendUvarint(l.frame[:0], uint64(len(batch))), batch...)
	l.taken = taken{l.head, position{s.number, l.head.Offset + n}, records}
	return nil
}

// skip gives up the rest of a segment that cannot be read any more.
func (l *Log) skip(s *segment, cause error) {
	l.opt.Report(&Damage{l.path(s.number), l.head.Offset, s.end - l.head.Offset, cause})
	l.counts.Dropped.add(s.batches-s.gone.batches, s.records-s.gone.records)
	s.gone.batches, s.gone.records = s.batches, s.records
	l.head.Offset = s.end
	if l.isOpen(s) {
		_ = l.file.Close()
		l.file = nil
	}
	l.trim()
}

// Delivered marks the frame that Next returned as received. An error means that a restart delivers it
// again; this process goes on with the next one.
func (l *Log) Delivered() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := l.taken
	l.taken = taken{}
	i := slices.IndexFunc(l.segments, func(s *segment) bool { return s.number == done.at.Segment })
	if done.end == (position{}) || i < 0 {
		return nil // its segment was dropped on the way, and it is counted there
	}
	s := l.segments[i]
	s.gone.batches, s.gone.records = s.gone.batches+1, s.gone.records+done.records
	l.counts.Delivered.add(1, done.records)
	l.head = done.end
	if l.headSegment() == nil {
		l.empty = time.Now()
	}
	err := l.writeCursor(done.end)
	l.trim()
	return err
}
