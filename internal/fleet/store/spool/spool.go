// Package spool is an agent's queue of batches on disk: what it has measured and the controller
// does not have yet.
//
// It sends nothing: fleet/uplink does.
//
// Its trap: the agent's loop calls Add, so nothing here may wait for the network or for a sync. A
// kill loses nothing that was written; a power cut may.
package spool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Limits of a batch, as of one in a records file: a quarter of a broker's usual 1 MB.
const (
	maxConns   = 1000
	batchBytes = 256 << 10
)

// Options of a spool.
type Options struct {
	Dir      string
	MaxBytes int64 // on disk; beyond it the oldest segments go
	// Head describes the sender. Its Sequence is that of the batch before the first one: it must
	// rise over a restart, since boot id and sequence name a batch for ever. The time since boot in
	// nanoseconds does.
	Head      wire.Header
	Addresses record.Addresses // what is kept of clients' addresses
}

// Status counts what became of batches since the start.
type Status struct {
	Batches   uint64 `json:"batches"` // made
	Records   uint64 `json:"records"`
	Delivered uint64 `json:"batches_delivered"`
	Dropped   uint64 `json:"batches_dropped"`   // the oldest, to stay within the limit
	Unwritten uint64 `json:"batches_unwritten"` // the disk did not take them
	TornBytes int64  `json:"torn_bytes"`        // of a batch that a kill cut off
	Bytes     int64  `json:"bytes"`             // on disk now
	Waiting   int    `json:"batches_waiting"`
}

// Spool is safe for one goroutine that adds and one that delivers.
type Spool struct {
	opt  Options
	more chan struct{} // a batch was written

	mu       sync.Mutex
	open     wire.Batch
	frame    []byte
	segments []*segment // oldest first; the last is written to, if file is open
	file     *os.File
	reading  *reader
	status   Status
}

// segment is one file.
type segment struct {
	number  uint64
	bytes   int64
	batches int // not delivered
}

// segmentShare: a sixteenth of the limit goes at once when it is reached.
const segmentShare = 16

// Open finds what an earlier run left. What was delivered of the segment that it was reading is
// delivered again: the receiver counts each batch once.
func Open(o Options) (*Spool, error) {
	s := &Spool{opt: o, more: make(chan struct{}, 1)}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	files, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	for _, f := range files {
		number, err := strconv.ParseUint(strings.TrimSuffix(f.Name(), suffix), 10, 64)
		if err != nil || !strings.HasSuffix(f.Name(), suffix) {
			continue // not ours
		}
		if err := s.find(number); err != nil {
			return nil, fmt.Errorf("open spool: %w", err)
		}
	}
	slices.SortFunc(s.segments, func(a, b *segment) int { return cmp.Compare(a.number, b.number) })
	return s, nil
}

const suffix = ".pb"

func (s *Spool) path(number uint64) string {
	return filepath.Join(s.opt.Dir, fmt.Sprintf("%016d%s", number, suffix))
}

// find counts a segment's batches. Damage ends it: what is behind cannot be found.
func (s *Spool) find(number uint64) error {
	f, err := os.Open(s.path(number))
	if err != nil {
		return err
	}
	defer f.Close()
	seg := &segment{number: number}
	rep, err := wire.Frames(f, func(b []byte) error { seg.bytes += frameBytes(b); return nil })
	seg.batches = rep.Batches
	info, serr := f.Stat()
	if err = errors.Join(err, serr); err != nil && !errors.Is(err, wire.ErrDamaged) {
		return err
	}
	if info.Size() > seg.bytes {
		s.status.TornBytes += info.Size() - seg.bytes
	}
	s.segments = append(s.segments, seg)
	s.status.Bytes += seg.bytes
	s.status.Waiting += seg.batches
	return nil
}

// Add puts a record, its remote address redacted, into the open batch.
func (s *Spool) Add(c *record.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *c
	kept.Remote = s.opt.Addresses.Redact(c.Remote)
	if s.open.Add(&kept) != nil {
		return // a record always encodes
	}
	s.status.Records++
	if conns, bytes := s.open.Len(); conns >= maxConns || bytes >= batchBytes {
		s.cut(nil)
	}
}

// End says that all records of a window were added, and cuts the batch.
func (s *Spool) End(e wire.WindowEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut([]wire.WindowEnd{e})
}

// Flush cuts the batch if it has anything.
func (s *Spool) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if conns, _ := s.open.Len(); conns > 0 {
		s.cut(nil)
	}
}

// cut writes the open batch behind the others.
func (s *Spool) cut(ends []wire.WindowEnd) {
	s.opt.Head.Sequence++
	h := s.opt.Head
	h.Ends = ends
	frame, err := s.open.AppendFrame(s.frame[:0], &h)
	if err == nil {
		s.frame = frame
		err = s.write(frame)
	}
	s.status.Batches++
	if err != nil {
		s.open = wire.Batch{}
		s.status.Unwritten++
		return
	}
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *Spool) write(frame []byte) error {
	for s.status.Bytes+int64(len(frame)) > s.opt.MaxBytes && len(s.segments) > 0 {
		s.dropOldest()
	}
	seg, err := s.current(int64(len(frame)))
	if err != nil {
		return err
	}
	if _, err := s.file.Write(frame); err != nil {
		return errors.Join(err, s.file.Truncate(seg.bytes)) // else what follows would be behind a torn batch
	}
	seg.bytes += int64(len(frame))
	seg.batches++
	s.status.Bytes += int64(len(frame))
	s.status.Waiting++
	return nil
}

// current returns the segment to write to, a new one if there is none or it is full.
func (s *Spool) current(more int64) (*segment, error) {
	if n := len(s.segments); s.file != nil && n > 0 && s.segments[n-1].bytes+more <= s.opt.MaxBytes/segmentShare {
		return s.segments[n-1], nil
	}
	if err := s.shut(); err != nil {
		return nil, err
	}
	number := uint64(1)
	if n := len(s.segments); n > 0 {
		number = s.segments[n-1].number + 1
	}
	f, err := os.OpenFile(s.path(number), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s.file = f
	s.segments = append(s.segments, &segment{number: number})
	return s.segments[len(s.segments)-1], nil
}

func (s *Spool) shut() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}

func (s *Spool) dropOldest() {
	s.status.Dropped += uint64(s.segments[0].batches)
	s.remove()
}

// remove forgets the oldest segment and its file.
func (s *Spool) remove() {
	seg := s.segments[0]
	s.segments = s.segments[1:]
	if len(s.segments) == 0 {
		_ = s.shut() // it is removed
	}
	if s.reading != nil && s.reading.number == seg.number {
		_ = s.reading.file.Close()
		s.reading = nil
	}
	s.status.Bytes -= seg.bytes
	s.status.Waiting -= seg.batches
	_ = os.Remove(s.path(seg.number)) // what stays is found at the next start
}

// Status returns the counts.
func (s *Spool) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Close closes the files. The open batch is written first.
func (s *Spool) Close() error {
	s.Flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.shut()
	if s.reading != nil {
		err = errors.Join(err, s.reading.file.Close())
		s.reading = nil
	}
	return err
}
