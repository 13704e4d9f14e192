package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

type fatal interface{ Fatal(...any) }

func check(t fatal, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func open(t fatal, dir string, most int64, sequence uint64) *Spool {
	s, err := Open(Options{Dir: dir, MaxBytes: most, Head: wire.Header{Host: "edge", PoP: "chi", Boot: record.BootID{1}, Sequence: sequence}})
	check(t, err)
	return s
}

// next returns the sequence and the cookies of the oldest batch; 0 for none.
func next(t fatal, s *Spool) (sequence uint64, cookies []uint64) {
	b, err := s.Next()
	check(t, err)
	if b == nil {
		return 0, nil
	}
	h, err := wire.DecodeHeader(b)
	check(t, err)
	check(t, wire.DecodeBatch(b, func(_ *wire.Header, c *record.Conn) error { cookies = append(cookies, uint64(c.Cookie)); return nil }))
	return h.Sequence, cookies
}

// TestSpool holds a spool against a list: what was added comes in order, once, but for what a
// restart brings again, and no batch is left out unless the limit dropped it.
func TestSpool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "spool")
		check(t, err)
		defer os.RemoveAll(dir)
		most := int64(rapid.SampledFrom([]int{1 << 20, 4000}).Draw(t, "most"))
		s, start := open(t, dir, most, 0), uint64(0)
		defer func() { check(t, s.Close()) }()
		var waiting []uint64 // sequences
		cookie, last := uint64(0), uint64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"add", "add", "add", "deliver", "deliver", "restart"}).Draw(t, "do") {
			case "add":
				cookie++
				s.Add(&record.Conn{Cookie: record.Cookie(cookie), Window: 300})
				s.Flush()
				last = start + uint64(s.Status().Batches)
				waiting = append(waiting, last)
			case "deliver":
				got, _ := next(t, s)
				for len(waiting) > 0 && got != 0 && waiting[0] < got && s.Status().Dropped > 0 {
					waiting = waiting[1:] // dropped
				}
				if len(waiting) == 0 && got != 0 || len(waiting) > 0 && got > waiting[0] {
					t.Fatalf("got batch %d, waiting are %d", got, waiting)
				}
				if got == 0 {
					if len(waiting) > 0 {
						t.Fatalf("nothing, waiting are %d", waiting)
					}
					break
				}
				s.Delivered()
				if len(waiting) > 0 && waiting[0] == got {
					waiting = waiting[1:]
				}
			case "restart":
				before := s.Status()
				check(t, s.Close())
				start += 1000 // time since boot
				s = open(t, dir, most, start)
				first, _ := next(t, s)
				if n := s.Status().Waiting; n < before.Waiting {
					t.Fatalf("%d waited before the restart, %d after", before.Waiting, n)
				}
				// What was delivered of its first segment comes again.
				for first != 0 && (len(waiting) == 0 || first < waiting[0]) {
					s.Delivered()
					first, _ = next(t, s)
				}
			}
			if b := s.Status().Bytes; b > most+1000 {
				t.Fatalf("%d bytes on disk, at most %d", b, most)
			}
		}
	})
}

// TestLimit drops the oldest and counts them.
func TestLimit(t *testing.T) {
	s := open(t, t.TempDir(), 10_000, 0)
	defer func() { check(t, s.Close()) }()
	for i := range 2000 {
		s.Add(&record.Conn{Cookie: record.Cookie(i), Window: 300})
		s.Flush()
	}
	st := s.Status()
	first, _ := next(t, s)
	if st.Bytes > 10_000 || st.Batches != 2000 || st.Dropped+uint64(st.Waiting) != 2000 || first != st.Dropped+1 {
		t.Errorf("%+v, first is %d", st, first)
	}
}

// TestEnds: a window's end cuts the batch, and big batches are cut by themselves.
func TestEnds(t *testing.T) {
	s := open(t, t.TempDir(), 1<<30, 41)
	defer func() { check(t, s.Close()) }()
	for i := range 2500 {
		s.Add(&record.Conn{Cookie: record.Cookie(i), Window: 300})
	}
	s.End(wire.WindowEnd{Start: 300, Unknown: "why"})
	var sizes []int
	for {
		b, err := s.Next()
		check(t, err)
		if b == nil {
			break
		}
		h, err := wire.DecodeHeader(b)
		check(t, err)
		seq, cookies := next(t, s)
		sizes = append(sizes, len(cookies))
		if want := uint64(41 + len(sizes)); seq != want || (len(h.Ends) == 1) != (len(sizes) == 3) {
			t.Errorf("batch %d (want %d), ends %v", seq, want, h.Ends)
		}
		s.Delivered()
	}
	if !slices.Equal(sizes, []int{1000, 1000, 500}) {
		t.Errorf("batches of %d", sizes)
	}
}

// TestFullDisk: what the disk does not take is counted, and what comes later is not lost with it.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20, 0)
	defer func() { check(t, s.Close()) }()
	s.Add(&record.Conn{Cookie: 1, Window: 300})
	s.Flush()
	check(t, s.file.Close()) // the next write fails, as on a full disk
	s.Add(&record.Conn{Cookie: 2, Window: 300})
	s.Flush()
	s.file = nil
	s.Add(&record.Conn{Cookie: 3, Window: 300})
	s.Flush()
	var got []uint64
	for {
		seq, cookies := next(t, s)
		if seq == 0 {
			break
		}
		got = append(got, cookies...)
		s.Delivered()
	}
	if !slices.Equal(got, []uint64{1, 3}) || s.Status().Unwritten != 1 {
		t.Errorf("%d, %+v", got, s.Status())
	}
}

// FuzzOpen: no file keeps a spool from opening, delivering and going on.
func FuzzOpen(f *testing.F) {
	s := open(f, f.TempDir(), 1<<20, 0)
	s.Add(&record.Conn{Cookie: 1, Window: 300})
	s.Flush()
	b, err := os.ReadFile(s.path(1))
	check(f, err)
	check(f, s.Close())
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		check(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%016d%s", 7, suffix)), b, 0o600))
		s := open(t, dir, 1<<20, 0)
		s.Add(&record.Conn{Cookie: 9, Window: 300})
		s.Flush()
		for range len(b) + 2 {
			got, err := s.Next()
			if got == nil && err == nil {
				check(t, s.Close())
				return
			}
			if err == nil {
				s.Delivered()
			}
		}
		t.Error("it does not end")
	})
}
