package batchlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/loop/store/wire"
)

// ErrFull is a batch larger than the whole log.
var ErrFull = errors.New("the log of batches is full")

// Append adds a frame (a batch behind its length). After an error the frame is not in the log, and counted as
// refused; the log goes on: a full disk takes the next one when it can. After a crash of the process it is there, after one of
// the host only what was synced.
func (l *Log) Append(frame []byte) error {
	records, err := recordsOf(frame)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		err = l.makeRoom(int64(len(frame)))
	}
	if err == nil {
		err = l.write(frame)
	}
	if err != nil {
		l.counts.Refused.add(1, records)
		return fmt.Errorf("append batch: %w", err)
	}
	s := l.segments[len(l.segments)-1]
	s.batches, s.records = s.batches+1, s.records+records
	l.counts.Appended.add(1, records)
	return nil
}

func recordsOf(frame []byte) (int, error) {
	size, n := binary.Uvarint(frame)
	if n <= 0 || size == 0 || size != uint64(len(frame)-n) {
		return 0, fmt.Errorf("%w: its length is not that of %d bytes", wire.ErrDamaged, len(frame))
	}
	return wire.CountConns(frame[n:])
}

func (l *Log) makeRoom(n int64) error {
	if n > l.opt.MaxBytes {
		return fmt.Errorf("%w: %d bytes; at most %d in all", ErrFull, n, l.opt.MaxBytes)
	}
	for l.bytes+n > l.opt.MaxBytes && len(l.segments) > 0 {
		if err := l.dropOldest(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) dropOldest() error {
	s := l.segments[0]
	if l.isOpen(s) {
		_ = l.file.Close() // it goes
		l.file = nil
	}
	if err := os.Remove(l.path(s.number)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l.counts.Dropped.add(s.batches-s.gone.batches, s.records-s.gone.records)
	l.bytes -= s.size
	l.segments = slices.Delete(l.segments, 0, 1)
	l.rewind()
	return syncDir(l.opt.Dir)
}

// write appends with one write. What a full disk took of it is cut off again.
func (l *Log) write(frame []byte) error {
	if l.file != nil && l.segments[len(l.segments)-1].end+int64(len(frame)) > l.opt.SegmentBytes {
		if err := l.endSegment(); err != nil {
			return err
		}
		l.trim()
	}
	if l.file == nil {
		if err := l.beginSegment(); err != nil {
			return err
		}
	}
	s := l.segments[len(l.segments)-1]
	n, err := l.file.Write(frame)
	if err == nil {
		s.end += int64(n)
		s.size, l.bytes = s.end, l.bytes+int64(n)
		return nil
	}
	if terr := l.file.Truncate(s.end); terr != nil { // a torn tail, then: nothing may follow it
		s.size, l.bytes = s.size+int64(n), l.bytes+int64(n)
		err = errors.Join(err, terr, l.file.Close())
		l.file = nil
	}
	return err
}

func (l *Log) beginSegment() error {
	number := l.next
	l.next++ // whatever happens: a name that is taken must not stop the log
	f, err := os.OpenFile(l.path(number), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	l.segments = append(l.segments, &segment{number: number, began: time.Now()})
	l.file = f
	l.rewind()
	return syncDir(l.opt.Dir)
}

func (l *Log) endSegment() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.sync(), l.file.Close())
	l.file = nil
	return err
}
