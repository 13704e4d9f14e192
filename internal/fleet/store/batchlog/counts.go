package batchlog

import (
	"fmt"
	"time"
)

// Amount is how many batches, and the records in them.
type Amount struct{ Batches, Records uint64 }

func (a *Amount) add(batches, records int) {
	a.Batches += uint64(batches)
	a.Records += uint64(records)
}

// Counts are what became of batches since Open. Appended = Delivered + Dropped + those that wait, without
// what an earlier process left.
type Counts struct {
	Kept      Amount // found by Open, not delivered yet
	Appended  Amount
	Delivered Amount
	Dropped   Amount // to stay within the bound, or unreadable later
	Refused   Amount // not taken: full, or the disk did not take it
	// Of earlier processes, seen by Open. What was in them is not known.
	TornBytes    int64 // cut off
	Damaged      int   // segments with a damage; what is behind it is skipped
	DamagedBytes int64
}

// Damage is what cannot be read of a segment: from Offset on it is skipped. The file goes when what is before it
// is delivered.
type Damage struct {
	File          string
	Offset, Bytes int64
	Cause         error
}

func (d *Damage) Error() string {
	return fmt.Sprintf("read segment %s at byte %d: %d bytes are skipped: %v", d.File, d.Offset, d.Bytes, d.Cause)
}

func (d *Damage) Unwrap() error { return d.Cause }

// Counts returns them.
func (l *Log) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// Dropped returns what was to be delivered and never will be.
func (l *Log) Dropped() (batches, records uint64) {
	c := l.Counts()
	return c.Dropped.Batches + c.Refused.Batches, c.Dropped.Records + c.Refused.Records
}

// Waiting returns what is not delivered, and since when its oldest waits, at most: it is exact to a segment. The
// zero time where nothing waits.
func (l *Log) Waiting() (batches int, bytes int64, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		if s.batches == s.gone.batches {
			continue
		}
		if batches == 0 {
			since = s.began
		}
		batches += s.batches - s.gone.batches
		bytes += s.end
		if s.number == l.head.Segment {
			bytes -= l.head.Offset
		}
	}
	if l.empty.After(since) && batches > 0 {
		since = l.empty
	}
	return batches, bytes, since
}

// Bytes returns what the segments take on disk.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}
