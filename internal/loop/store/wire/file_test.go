package wire

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/record"
)

var testHeader = Header{Boot: record.BootID{1, 2, 3}, Host: "edge1", PoP: "fra", CongctlVersion: "0.1.0"}

// written makes a records file of n records in batches of 7, and returns its bytes.
func written(t testing.TB, n int, a record.Addresses) (file []byte, conns []record.Conn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.congctl")
	w, err := Create(path, testHeader, Limits{Conns: 7}, a)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for range n {
		c := anyConn(rng)
		conns = append(conns, *c)
		if err := w.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode() != 0o600 {
		t.Fatalf("%v %v", fi, err)
	}
	if _, err := Create(path, testHeader, Limits{}, a); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("a second writer on the same name: %v", err)
	}
	file, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file, conns
}

func readFile(file []byte) (conns []record.Conn, heads []Header, rep Report, err error) {
	rep, err = Read(bytes.NewReader(file), func(h *Header, c *record.Conn) error {
		conns = append(conns, *c)
		if len(heads) == 0 || heads[len(heads)-1].Sequence != h.Sequence {
			heads = append(heads, *h)
		}
		return nil
	})
	return conns, heads, rep, err
}

func TestFileRoundTrip(t *testing.T) {
	file, want := written(t, 30, record.AddressesFull)
	got, heads, rep, err := readFile(file)
	if d := cmp.Diff(want, got, sameValues); err != nil || d != "" {
		t.Fatalf("%v\n%s", err, d)
	}
	if rep != (Report{Batches: 5, Conns: 30}) {
		t.Errorf("report %+v", rep)
	}
	for i, h := range heads {
		w := testHeader
		w.Sequence = uint64(i + 1)
		if d := cmp.Diff(w, h); d != "" {
			t.Errorf("header %d: %s", i, d)
		}
	}
}

func TestFileIsPlainDelimitedProtobuf(t *testing.T) {
	file, want := written(t, 10, record.AddressesFull)
	r := bytes.NewReader(file)
	n := 0
	for {
		var b congctlv1.Batch
		err := protodelim.UnmarshalFrom(r, &b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Host != "edge1" || b.Pop != "fra" || b.CongctlVersion != "0.1.0" || [16]byte(b.BootId) != testHeader.Boot {
			t.Errorf("header %v", &b)
		}
		for _, c := range b.Conns {
			if c.Cookie != uint64(want[n].Cookie) {
				t.Errorf("record %d has cookie %d", n, c.Cookie)
			}
			n++
		}
	}
	if n != 10 {
		t.Errorf("%d records", n)
	}
}

func TestFileKeepsNoAddress(t *testing.T) {
	for rule, wantRemote := range map[record.Addresses]string{record.AddressesPrefix: "203.0.113.0:0", record.AddressesNone: ""} {
		path := filepath.Join(t.TempDir(), "r")
		w, err := Create(path, testHeader, Limits{}, rule)
		if err != nil {
			t.Fatal(err)
		}
		c := typicalConn()
		before := *c
		if err := errors.Join(w.Add(c), w.Close()); err != nil || *c != before {
			t.Fatalf("%v, or the caller's record was changed", err)
		}
		file, _ := os.ReadFile(path)
		if bytes.Contains(file, []byte{203, 0, 113, 77}) {
			t.Errorf("%s: the client's address is in the file", rule)
		}
		got, _, _, err := readFile(file)
		want := netip.AddrPort{}
		if wantRemote != "" {
			want = netip.MustParseAddrPort(wantRemote)
		}
		if err != nil || len(got) != 1 || got[0].Remote != want || got[0].Prefix != c.Prefix {
			t.Errorf("%s: %v %v", rule, got, err)
		}
	}
}

// Cut anywhere, a file gives the batches that are whole, and reports the rest.
func TestTornTail(t *testing.T) {
	file, want := written(t, 30, record.AddressesFull)
	ends := batchEnds(file)
	for cut := 0; cut <= len(file); cut += 13 {
		whole, end := 0, 0
		for _, e := range ends {
			if e <= cut {
				whole, end = whole+1, e
			}
		}
		got, _, rep, err := readFile(file[:cut])
		n := min(7*whole, 30)
		if err != nil || rep != (Report{Batches: whole, Conns: n, TornBytes: int64(cut - end)}) {
			t.Fatalf("cut at %d: %+v %v; want %d batches, %d torn bytes", cut, rep, err, whole, cut-end)
		}
		if d := cmp.Diff(want[:n], got, sameValues); n > 0 && d != "" {
			t.Fatal(d)
		}
	}
	_, _, rep, err := readFile(append(bytes.Clone(file), make([]byte, 9000)...))
	if err != nil || rep.TornBytes != 9000 || rep.Conns != 30 {
		t.Errorf("zeros at the end: %+v %v", rep, err)
	}
}

func batchEnds(file []byte) (ends []int) {
	for at := 0; at < len(file); {
		_, n := protowire.ConsumeBytes(file[at:])
		at += n
		ends = append(ends, at)
	}
	return ends
}

func TestDamagedFile(t *testing.T) {
	file, _ := written(t, 30, record.AddressesFull)
	ends := batchEnds(file)
	gap := bytes.Clone(file)
	gap[ends[1]] = 0
	long := append(protowire.AppendVarint(nil, maxBatchBytes+1), file...)
	over := append(bytes.Repeat([]byte{0xff}, 11), file...)
	bad := bytes.Clone(file)
	copy(bad[ends[0]+3:ends[1]], bytes.Repeat([]byte{0xff}, 200))
	for name, b := range map[string][]byte{"gap": gap, "length": long, "varint": over, "body": bad} {
		if _, _, _, err := readFile(b); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stop := errors.New("stop")
	if _, err := Read(bytes.NewReader(file), func(*Header, *record.Conn) error { return stop }); !errors.Is(err, stop) || errors.Is(err, ErrDamaged) {
		t.Errorf("an error of the caller: %v", err)
	}
	if _, err := Read(io.MultiReader(bytes.NewReader(file[:ends[1]+9]), failing{stop}), func(*Header, *record.Conn) error { return nil }); !errors.Is(err, stop) {
		t.Errorf("an error of the disk: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestWriterLimitsAndErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	w, err := Create(path, testHeader, Limits{Bytes: 1}, record.AddressesPrefix)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.Add(typicalConn()); err != nil {
			t.Fatal(err)
		}
	}
	file, _ := os.ReadFile(path)
	if _, _, rep, err := readFile(file); err != nil || rep.Batches != 3 {
		t.Errorf("a batch over its bytes waits: %+v %v", rep, err)
	}
	_ = w.file.Close()
	first := w.Add(typicalConn())
	if second := w.Add(typicalConn()); first == nil || !errors.Is(second, fs.ErrClosed) {
		t.Errorf("after a failed write: %v, then %v", first, second)
	}
	if w.Close() == nil {
		t.Error("close of a failed writer is silent")
	}
}

func FuzzRead(f *testing.F) {
	file, _ := written(f, 2, record.AddressesFull) // small: a fuzzer minimises what it finds, byte by byte
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add([]byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		rep, err := Read(bytes.NewReader(b), func(*Header, *record.Conn) error { n++; return nil })
		if rep.Conns != n || rep.TornBytes < 0 || rep.TornBytes > int64(len(b)) || err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("%+v, %d rows, %v", rep, n, err)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "r"), testHeader, Limits{}, record.AddressesPrefix)
	if err != nil {
		b.Fatal(err)
	}
	c := typicalConn()
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Add(c); err != nil {
			b.Fatal(err)
		}
	}
	_ = w.Close()
}
