package policy

import (
	"bufio"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"unsafe"
)

// Rest: what was measured of 10,000 networks is 15 MB, and a controller of a hundred PoPs decides for one at
// a time. So an engine can lay its measurements down between two rounds. What stays in memory are the
// selected prefixes with their trials, as many as the plan has, and what is one for all prefixes.
//
// The image is this process's memory as it is: 8-byte words of
//
//	plain and three counts, slots of the lookback, history, spans of the past (each kind filled up to a word)
//
// for each prefix in order. No other process reads it, so it has no version; its CRC-32C stays here. An engine that
// cannot have its image back is one to replay from the store.

// laid is what an engine remembers of its image.
type laid struct {
	tracks int
	bytes  int64
	sum    uint32
	marked []marked
}

// marked is the part of a track that stays: of few.
type marked struct {
	at      int
	refused string
	chosen  *Selected
	trial   *trial
	paced   []paced
}

// counted is a track's beginning in the image.
type counted struct {
	plain
	recent, history, past uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Rest writes what was measured, from the file's beginning, and drops it. Before the next Round, or any question, it must be
// brought back by Wake. After an error all is in memory as before.
func (e *Engine) Rest(to io.WriterAt) error {
	sum := crc32.New(castagnoli)
	w := &counting{to: io.NewOffsetWriter(to, 0), sum: sum}
	buf := bufio.NewWriterSize(w, 256<<10)
	l := &laid{tracks: len(e.tracks)}
	for i, t := range e.tracks {
		h := counted{t.plain, uint32(len(t.recent)), uint32(len(t.history)), uint32(len(t.past))}
		lay(buf, unsafe.Slice(&h, 1))
		lay(buf, t.recent)
		lay(buf, t.history)
		lay(buf, t.past)
		if t.refused != "" || t.chosen != nil || t.trial != nil || t.paced != nil {
			l.marked = append(l.marked, marked{i, t.refused, t.chosen, t.trial, t.paced})
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("lay measurements down: %w", err)
	}
	l.bytes, l.sum = w.n, sum.Sum32()
	e.tracks, e.laid = nil, l
	return nil
}

// Wake takes back what Rest wrote.
func (e *Engine) Wake(from io.ReaderAt) error {
	if !e.Resting() {
		return nil
	}
	// Words, so that the parts lie as their types must.
	words := make([]uint64, (e.laid.bytes+7)/8)
	image := bytesOf(words)[:e.laid.bytes]
	if _, err := io.ReadFull(io.NewSectionReader(from, 0, e.laid.bytes), image); err != nil {
		return fmt.Errorf("take measurements back: %w", err)
	}
	if crc32.Checksum(image, castagnoli) != e.laid.sum {
		return errors.New("take measurements back: checksum differs")
	}
	all, next := make([]track, e.laid.tracks), e.laid.marked
	e.tracks = make([]*track, e.laid.tracks)
	for i := range all {
		t := &all[i]
		h := take[counted](&image, 1)[0]
		t.plain = h.plain
		t.recent, t.history, t.past = take[slot](&image, h.recent), take[entry](&image, h.history), take[span](&image, h.past)
		if len(next) > 0 && next[0].at == i {
			t.refused, t.chosen, t.trial, t.paced = next[0].refused, next[0].chosen, next[0].trial, next[0].paced
			next = next[1:]
		}
		e.tracks[i] = t
	}
	return nil
}

// Resting reports whether the engine needs Wake.
func (e *Engine) Resting() bool { return e.laid != nil && e.tracks == nil }

// Doze drops again what Wake brought. It reports false, and does nothing, if a round has changed it.
func (e *Engine) Doze() bool {
	if e.laid == nil {
		return false
	}
	e.tracks = nil
	return true
}

// lay writes a list as it is in memory, filled up to a word.
func lay[T plain | counted | slot | entry | span](w *bufio.Writer, list []T) {
	b := bytesOf(list)
	_, _ = w.Write(b) // its first error comes again from Flush
	_, _ = w.Write(word[:-len(b)&7])
}

var word [8]byte

// take is the list at the image's beginning; nil for none.
func take[T plain | counted | slot | entry | span](image *[]byte, n uint32) []T {
	if n == 0 {
		return nil
	}
	list := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(*image))), n)
	*image = (*image)[(len(bytesOf(list))+7)&^7:]
	return list
}

func bytesOf[T any](list []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(*new(T))))
}

// counting counts and sums what passes.
type counting struct {
	to  io.Writer
	sum hash.Hash32
	n   int64
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	_, _ = c.sum.Write(b[:n])
	return n, err
}
