package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/record"
)

// ended is a header with the end of a window that says everything, and one that says nothing.
var ended = Header{Boot: testHeader.Boot, Host: "edge1", PoP: "fra", Sequence: 7, CongctlVersion: "0.1.0", Ends: []WindowEnd{
	{Start: 1767322800, Unknown: "wall clock stepped", Starved: "steal 30 %", DefaultCongs: []string{"cubic", "", "bbr"}}, {},
}}

// frameOf is the frame of some records.
func frameOf(t testing.TB, h *Header, conns ...*record.Conn) []byte {
	t.Helper()
	var b Batch
	for _, c := range conns {
		if err := b.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	frame, err := b.AppendFrame(nil, h)
	if n, size := b.Len(); err != nil || n != 0 || size != 0 {
		t.Fatalf("%v, and %d records of %d bytes are still there", err, n, size)
	}
	return frame
}

// bodyOf takes the length off.
func bodyOf(t testing.TB, frame []byte) []byte {
	t.Helper()
	body, n := protowire.ConsumeBytes(frame)
	if n != len(frame) {
		t.Fatalf("the frame's length is %d of %d bytes", n, len(frame))
	}
	return body
}

// TestFrameByHand is the smallest batch of each kind, byte by byte.
func TestFrameByHand(t *testing.T) {
	for name, c := range map[string]struct {
		head  Header
		conns []*record.Conn
		want  string
	}{
		"nothing":   {want: "00"},
		"a record":  {head: Header{Host: "e", Sequence: 5}, conns: []*record.Conn{{Window: 300}}, want: "0a" + "120165" + "2005" + "3203" + "18ac02"},
		"an end":    {head: Header{Ends: []WindowEnd{{Start: 300}}}, want: "05" + "3a03" + "08ac02"},
		"empty end": {head: Header{Ends: []WindowEnd{{}}}, want: "02" + "3a00"},
		"end with reasons": {head: Header{Ends: []WindowEnd{{Unknown: "u", Starved: "s", DefaultCongs: []string{"a", "b"}}}},
			want: "0e" + "3a0c" + "120175" + "1a0173" + "220161" + "220162"},
		"both": {head: Header{Ends: []WindowEnd{{Start: 300}}}, conns: []*record.Conn{{Window: 300}, {Window: 1}},
			want: "0e" + "3a03" + "08ac02" + "3203" + "18ac02" + "3202" + "1801"},
	} {
		if got := hex.EncodeToString(frameOf(t, &c.head, c.conns...)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestFrameEqualsProtobuf(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	c := anyConn(rng)
	var got congctlv1.Batch
	if err := protodelim.UnmarshalFrom(bytes.NewReader(frameOf(t, &ended, c)), &got); err != nil {
		t.Fatal(err)
	}
	want := &congctlv1.Batch{BootId: ended.Boot[:], Host: "edge1", Pop: "fra", Sequence: 7, CongctlVersion: "0.1.0",
		Conns: []*congctlv1.Conn{asMessage(c)}, WindowEnds: []*congctlv1.WindowEnd{
			{Start: 1767322800, Unknown: "wall clock stepped", Starved: "steal 30 %", DefaultCongs: []string{"cubic", "", "bbr"}}, {},
		}}
	if d := cmp.Diff(want, &got, protocmp.Transform()); d != "" {
		t.Errorf("protobuf reads another batch (-want +got):\n%s", d)
	}
}

// TestEndsAreCarried with records and without: then row is never called, and the header says it.
func TestEndsAreCarried(t *testing.T) {
	c := typicalConn()
	for _, conns := range [][]*record.Conn{nil, {c}, {c, c, c}} {
		body := bodyOf(t, frameOf(t, &ended, conns...))
		h, err := DecodeHeader(body)
		if d := cmp.Diff(ended, h); err != nil || d != "" {
			t.Errorf("%d records: %v %s", len(conns), err, d)
		}
		rows := 0
		err = DecodeBatch(body, func(h *Header, got *record.Conn) error {
			rows++
			if d := cmp.Diff(ended, *h); d != "" || *got != *c {
				t.Errorf("row %d: %+v, of %s", rows, got, d)
			}
			return nil
		})
		if err != nil || rows != len(conns) {
			t.Errorf("%d rows of %d, %v", rows, len(conns), err)
		}
	}
}

// A records file is one host's own, which has its windows elsewhere; ends of its creation would end windows in each batch.
func TestFileHasNoEnds(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "r"), ended, Limits{}, record.AddressesFull)
	if err != nil || w.head.Ends != nil || w.head.Sequence != 0 {
		t.Fatalf("%+v, %v", w.head, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestEndsOddValues(t *testing.T) {
	odd := Header{Ends: []WindowEnd{{Start: -300, Unknown: "a\xffb", DefaultCongs: []string{"c\xff"}}}}
	h, err := DecodeHeader(bodyOf(t, frameOf(t, &odd)))
	want := Header{Ends: []WindowEnd{{Start: -300, Unknown: "a\ufffdb", DefaultCongs: []string{"c\ufffd"}}}}
	if d := cmp.Diff(want, h); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

// TestHeaderIsBounded: of 64 MiB of empty ends the library would make 3 GiB.
func TestHeaderIsBounded(t *testing.T) {
	for size, ok := range map[int]bool{maxHeadBytes: true, maxHeadBytes + 2: false} {
		body := bytes.Repeat([]byte{0x3a, 0}, size/2)
		h, err := DecodeHeader(body)
		if ok && (err != nil || len(h.Ends) != size/2) || !ok && (!errors.Is(err, ErrDamaged) || h.Ends != nil) {
			t.Errorf("%d bytes: %d ends, %v", size, len(h.Ends), err)
		}
		var b Batch
		if err := b.Add(typicalConn()); err != nil {
			t.Fatal(err)
		}
		_, err = b.AppendFrame(nil, &Header{Ends: make([]WindowEnd, size/2)})
		if n, _ := b.Len(); ok != (err == nil) || !ok && (n != 1 || !strings.Contains(err.Error(), fmt.Sprintf("%d ends of windows", size/2))) {
			t.Errorf("%d bytes are written: %v, %d records left", size, err, n)
		}
	}
	if _, err := DecodeHeader([]byte{0x3a, 0x02, 0x12, 0x05}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a torn end: %v", err)
	}
}

// Protobuf allows a tag in more bytes than it needs.
func TestDecodeBatchWithALongTag(t *testing.T) {
	var got []record.Conn
	err := DecodeBatch([]byte{0xb2, 0x00, 0x02, 0x18, 0x01}, func(_ *Header, c *record.Conn) error {
		got = append(got, *c)
		return nil
	})
	if want := (record.Conn{Window: 1}); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func FuzzDecodeHeader(f *testing.F) {
	f.Add(bodyOf(f, frameOf(f, &ended)))
	f.Add(bodyOf(f, frameOf(f, &ended, typicalConn())))
	f.Add([]byte{0x3a, 0x02, 0x12, 0x05})
	f.Add([]byte{0xba, 0x00, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := DecodeHeader(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) || !cmp.Equal(h, Header{}) {
				t.Fatalf("%+v, %v", h, err)
			}
			return
		}
		again, err := DecodeHeader(bodyOf(t, frameOf(t, &h)))
		if d := cmp.Diff(h, again); err != nil || d != "" {
			t.Fatalf("what was read cannot be written and read again: %v %s", err, d)
		}
		rows := func(got *Header, _ *record.Conn) error {
			if d := cmp.Diff(h, *got); d != "" {
				t.Fatalf("a row has another header: %s", d)
			}
			return nil
		}
		if err := DecodeBatch(b, rows); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}
