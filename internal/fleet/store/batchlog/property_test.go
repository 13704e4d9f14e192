package batchlog

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slow is the obvious log: it keeps every batch, and knows what a disk may lose.
type slow struct {
	max, segment int64
	segments     [][]item
	open, synced bool // the last one is being written; it is on the disk whole
	delivered    uint64
	dropped      []uint64
}

type item struct {
	sequence uint64
	size     int64
}

func sizeOf(s []item) (n int64) {
	for _, i := range s {
		n += i.size
	}
	return n
}

func (m *slow) bytes() (n int64) {
	for _, s := range m.segments {
		n += sizeOf(s)
	}
	return n
}

func (m *slow) append(i item) {
	for m.bytes()+i.size > m.max {
		for _, d := range m.segments[0] {
			if d.sequence > m.delivered {
				m.dropped = append(m.dropped, d.sequence)
			}
		}
		m.segments = m.segments[1:]
		m.open = m.open && len(m.segments) > 0
	}
	if n := len(m.segments); m.open && sizeOf(m.segments[n-1])+i.size > m.segment {
		m.open = false
		m.trim()
	}
	if !m.open {
		m.segments, m.open = append(m.segments, nil), true
	}
	n := len(m.segments)
	m.segments[n-1] = append(m.segments[n-1], i)
	m.synced = false
}

func (m *slow) trim() {
	for len(m.segments) > 0 && !(m.open && len(m.segments) == 1) {
		if s := m.segments[0]; len(s) > 0 && s[len(s)-1].sequence > m.delivered {
			return
		}
		m.segments = m.segments[1:]
	}
}

func (m *slow) waiting() (all []uint64) {
	for _, s := range m.segments {
		for _, i := range s {
			if i.sequence > m.delivered {
				all = append(all, i.sequence)
			}
		}
	}
	return all
}

// cut loses what is behind a byte of the last segment.
func (m *slow) cut(at int64) {
	n := len(m.segments)
	for s := m.segments[n-1]; len(s) > 0 && sizeOf(s) > at; s = m.segments[n-1] {
		m.segments[n-1] = s[:len(s)-1]
	}
}

func TestLogAgainstTheObviousOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		check(t, err)
		m := &slow{max: rapid.Int64Range(300, 2000).Draw(rt, "max"), segment: rapid.Int64Range(60, 600).Draw(rt, "segment")}
		o := Options{Dir: dir, MaxBytes: m.max, SegmentBytes: m.segment}
		l := opened(t, o)
		sequence := uint64(0)
		reopen := func() {
			m.open = false
			l = opened(t, o)
			m.trim()
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				sequence++
				frame := frameOf(sequence, rapid.IntRange(0, 3).Draw(rt, "records"), rapid.IntRange(0, 200).Draw(rt, "pad"))
				check(t, l.Append(frame))
				m.append(item{sequence, int64(len(frame))})
			},
			"deliver": func(rt *rapid.T) {
				frame, err := l.Next()
				check(t, err)
				if w := m.waiting(); (frame == nil) != (len(w) == 0) || frame != nil && sequenceOf(body(frame)) != w[0] {
					rt.Fatalf("the next is not the oldest of %v", w)
				}
				if frame != nil {
					m.delivered = sequenceOf(body(frame))
				}
				check(t, l.Delivered())
				m.trim()
			},
			"sync":   func(*rapid.T) { check(t, l.Sync()); m.synced = true },
			"close":  func(*rapid.T) { check(t, l.Close()); reopen() },
			"killed": func(*rapid.T) { reopen() }, // what was written is in the kernel
			"crash": func(rt *rapid.T) { // of the host: at any byte of what was not synced
				if n := len(l.segments); m.open && !m.synced {
					s := l.segments[n-1]
					at := rapid.Int64Range(0, s.end).Draw(rt, "cut")
					check(t, os.Truncate(l.path(s.number), at))
					m.cut(at)
				}
				reopen()
			},
			"cursor is lost": func(rt *rapid.T) {
				path := filepath.Join(dir, cursorName)
				b, _ := os.ReadFile(path)
				check(t, os.WriteFile(path, b[:rapid.IntRange(0, max(0, len(b)-1)).Draw(rt, "cut")], 0o600))
				m.delivered = 0 // again, what is still there
				reopen()
			},
			"": func(rt *rapid.T) { same(rt, l, m) },
		})
	})
}

func same(rt *rapid.T, l *Log, m *slow) {
	if got := l.Bytes(); got != m.bytes() || got > m.max {
		rt.Fatalf("%d bytes, want %d of %d", got, m.bytes(), m.max)
	}
	n, _, since := l.Waiting()
	if want := len(m.waiting()); n != want || since.IsZero() != (want == 0) {
		rt.Fatalf("%d wait since %s, want %d", n, since, want)
	}
	all := 0
	if err := l.Each(func(b []byte) error {
		s := sequenceOf(b)
		if slices.Contains(m.dropped, s) {
			rt.Fatalf("%d was dropped", s)
		}
		all++
		return nil
	}); err != nil {
		rt.Fatal(err)
	}
	want := 0
	for _, s := range m.segments {
		want += len(s)
	}
	if all != want {
		rt.Fatalf("%d batches on disk, want %d", all, want)
	}
	c := l.Counts()
	if c.Kept.Batches+c.Appended.Batches != c.Delivered.Batches+c.Dropped.Batches+uint64(n) {
		rt.Fatalf("%+v do not add up with %d waiting", c, n)
	}
}

func FuzzOpen(f *testing.F) {
	two := append(frameOf(1, 2, 3), frameOf(2, 0, 9)...)
	f.Add(two, []byte(cursorLine(position{1, int64(len(frameOf(1, 2, 3)))})))
	f.Add(two[:len(two)-2], []byte(cursorLine(position{1, 7})))
	f.Add(append(two, 0, 0, 0), []byte("x"))
	f.Add([]byte{0, 1}, []byte{})
	f.Fuzz(func(t *testing.T, segment, cursor []byte) {
		dir := t.TempDir()
		check(t, os.WriteFile(filepath.Join(dir, "00000000000000000001.pb"), segment, 0o600))
		check(t, os.WriteFile(filepath.Join(dir, cursorName), cursor, 0o600))
		l := opened(t, Options{Dir: dir, MaxBytes: 1 << 30})
		c := l.Counts()
		if lost := c.TornBytes + c.DamagedBytes; lost < 0 || lost > int64(len(segment)) || (c.Damaged == 0) != (c.DamagedBytes == 0) {
			t.Fatalf("of %d bytes: %+v", len(segment), c)
		}
		n := uint64(0)
		for {
			frame, err := l.Next()
			check(t, err)
			if frame == nil {
				break
			}
			n++
			check(t, l.Delivered())
		}
		if n != c.Kept.Batches {
			t.Fatalf("%d batches, counted %d", n, c.Kept.Batches)
		}
		check(t, l.Append(frameOf(7, 1, 0)))
		if frame, err := l.Next(); err != nil || sequenceOf(body(frame)) != 7 {
			t.Fatalf("% x, %v", frame, err)
		}
	})
}
