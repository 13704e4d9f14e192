package batchlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// frameOf makes a frame of so many records, with pad bytes more, in a field of a newer sender.
func frameOf(sequence uint64, records, pad int) []byte {
	var b wire.Batch
	for i := range records {
		if err := b.Add(&record.Conn{Netns: 1, Cookie: record.Cookie(i + 1), Window: 300, AtNs: 1, Prefix: 0xcb007100 | 24}); err != nil {
			panic(err)
		}
	}
	frame, err := b.AppendFrame(nil, &wire.Header{Sequence: sequence})
	if err != nil {
		panic(err)
	}
	batch := protowire.AppendBytes(protowire.AppendTag(body(frame), 500, protowire.BytesType), make([]byte, pad))
	return append(binary.AppendUvarint(nil, uint64(len(batch))), batch...)
}

func sequenceOf(batch []byte) uint64 {
	h, err := wire.DecodeHeader(batch)
	if err != nil {
		panic(err)
	}
	return h.Sequence
}

func body(frame []byte) []byte {
	_, n := binary.Uvarint(frame)
	return frame[n:]
}

func opened(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rest delivers all that waits and returns its sequences.
func rest(t testing.TB, l *Log) (all []uint64) {
	t.Helper()
	for {
		frame, err := l.Next()
		check(t, err)
		if frame == nil {
			return all
		}
		all = append(all, sequenceOf(body(frame)))
		check(t, l.Delivered())
	}
}

func TestSpool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	o := Options{Dir: dir, MaxBytes: 1 << 20}
	l := opened(t, o)
	for n := range uint64(5) {
		check(t, l.Append(frameOf(n+1, 3, 0)))
	}
	a, _ := l.Next()
	if b, _ := l.Next(); sequenceOf(body(a)) != 1 || sequenceOf(body(b)) != 1 {
		t.Error("Next is another batch before Delivered")
	}
	check(t, l.Delivered())
	check(t, l.Delivered()) // of nothing: nothing
	if n, size, since := l.Waiting(); n != 4 || size != 4*int64(len(frameOf(2, 3, 0))) || since.IsZero() {
		t.Errorf("%d waiting, %d bytes, since %s", n, size, since)
	}
	check(t, l.Close())
	l = opened(t, o)
	if got := rest(t, l); !slices.Equal(got, []uint64{2, 3, 4, 5}) {
		t.Errorf("after a restart: %v", got)
	}
	if c := l.Counts(); c.Kept != (Amount{4, 12}) || c.Delivered != (Amount{4, 12}) {
		t.Errorf("%+v", c)
	}
	if n, _, since := l.Waiting(); n != 0 || !since.IsZero() || l.Bytes() != 0 {
		t.Errorf("%d wait since %s, %d bytes", n, since, l.Bytes())
	}
	modes(t, dir)
}

// modes: nobody else reads what clients did.
func modes(t *testing.T, dir string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		check(t, err)
		fi, err := d.Info()
		check(t, err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if fi.Mode().Perm() != want {
			t.Errorf("%s has mode %s", path, fi.Mode())
		}
		return nil
	}))
}

func TestOldestIsDropped(t *testing.T) {
	one := int64(len(frameOf(1, 1, 10)))
	l := opened(t, Options{Dir: t.TempDir(), MaxBytes: 6 * one, SegmentBytes: 2 * one})
	for n := range uint64(8) {
		check(t, l.Append(frameOf(n+1, 1, 10)))
	}
	if c := l.Counts(); c.Dropped != (Amount{2, 2}) || c.Appended != (Amount{8, 8}) {
		t.Errorf("%+v", c)
	}
	frame, _ := l.Next()
	if n := sequenceOf(body(frame)); n != 3 {
		t.Errorf("the oldest is %d", n)
	}
	// What is on its way when its segment goes is dropped, and must not count for the next one.
	check(t, l.Append(frameOf(9, 1, 10)))
	check(t, l.Delivered())
	if got := rest(t, l); !slices.Equal(got, []uint64{5, 6, 7, 8, 9}) {
		t.Errorf("left: %v", got)
	}
	if c := l.Counts(); c.Dropped != (Amount{4, 4}) || c.Delivered != (Amount{5, 5}) {
		t.Errorf("%+v", c)
	}
	if err := l.Append(frameOf(10, 1, 1000)); !errors.Is(err, ErrFull) || l.Counts().Refused != (Amount{1, 1}) {
		t.Errorf("a batch larger than the log: %v, %+v", err, l.Counts())
	}
}

func TestNoFrame(t *testing.T) {
	l := opened(t, Options{Dir: t.TempDir(), MaxBytes: 1 << 20})
	for name, b := range map[string][]byte{"nothing": nil, "empty": {0}, "short": {5, 1}, "long": {1, 8, 1}, "no message": {2, 0xff, 0xff}} {
		if err := l.Append(b); !errors.Is(err, wire.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if frame, err := l.Next(); frame != nil || err != nil || l.Bytes() != 0 {
		t.Errorf("% x, %v", frame, err)
	}
}

// TestDamage: what is behind a damage is skipped, in that segment alone.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	one := len(frameOf(1, 1, 10))
	o := Options{Dir: dir, MaxBytes: 1 << 20, SegmentBytes: 3 * int64(one)}
	l := opened(t, o)
	for n := range uint64(6) {
		check(t, l.Append(frameOf(n+1, 1, 10)))
	}
	check(t, l.Close())
	path := filepath.Join(dir, "00000000000000000001.pb")
	b, err := os.ReadFile(path)
	check(t, err)
	copy(b[one+1:], bytes.Repeat([]byte{0xff}, 8))
	check(t, os.WriteFile(path, b, 0o600))
	var found []*Damage
	o.Report = func(d *Damage) { found = append(found, d) }
	l = opened(t, o)
	if len(found) != 1 || found[0].File != path || found[0].Offset != int64(one) || found[0].Bytes != int64(2*one) || !errors.Is(found[0], wire.ErrDamaged) {
		t.Errorf("%v", found)
	}
	if c := l.Counts(); c.Damaged != 1 || c.DamagedBytes != int64(2*one) || c.TornBytes != 0 || c.Kept.Batches != 4 {
		t.Errorf("%+v", c)
	}
	if got := rest(t, l); !slices.Equal(got, []uint64{1, 4, 5, 6}) {
		t.Errorf("left: %v", got)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left on disk: %v", left)
	}
}

// TestDamageWhileOpen: a disk that loses what it had does not stop the log.
func TestDamageWhileOpen(t *testing.T) {
	dir := t.TempDir()
	found := 0
	l := opened(t, Options{Dir: dir, MaxBytes: 1 << 20, Report: func(*Damage) { found++ }})
	check(t, l.Append(frameOf(1, 1, 10)))
	check(t, l.Append(frameOf(2, 2, 10)))
	check(t, os.Truncate(filepath.Join(dir, "00000000000000000001.pb"), 5))
	if frame, err := l.Next(); frame != nil || err != nil {
		t.Errorf("% x, %v", frame, err)
	}
	check(t, l.Append(frameOf(3, 1, 10)))
	if got := rest(t, l); !slices.Equal(got, []uint64{3}) || found != 1 || l.Counts().Dropped != (Amount{2, 3}) {
		t.Errorf("%v, %d, %+v", got, found, l.Counts())
	}
}
