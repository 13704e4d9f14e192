package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/congctl/congctl/internal/answer/foreign"
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
	odd := Header{Host: "\n", Ends: []WindowEnd{{Start: -300, Unknown: "a\xffb", DefaultCongs: []string{"c\xff", "c?"}}}}
	h, err := DecodeHeader(bodyOf(t, frameOf(t, &odd)))
	want := Header{Host: "?", Ends: []WindowEnd{{Start: -300, Unknown: "a?b", DefaultCongs: []string{"c?"}}}}
	if d := cmp.Diff(want, h); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

// TestHeaderIsBounded: of 1 MB of empty ends the library would make half a million.
func TestHeaderIsBounded(t *testing.T) {
	for ends, ok := range map[int]bool{maxEnds: true, maxEnds + 1: false, 1 << 19: false} {
		h, err := DecodeHeader(bytes.Repeat([]byte{0x3a, 0}, ends))
		if ok && (err != nil || len(h.Ends) != ends) || !ok && (!errors.Is(err, ErrDamaged) || h.Ends != nil) {
			t.Errorf("%d ends: %d, %v", ends, len(h.Ends), err)
		}
		var b Batch
		if err := b.Add(typicalConn()); err != nil {
			t.Fatal(err)
		}
		_, err = b.AppendFrame(nil, &Header{Ends: make([]WindowEnd, ends)})
		if n, _ := b.Len(); ok != (err == nil) || !ok && (n != 1 || !strings.Contains(err.Error(), fmt.Sprintf("%d ends of windows", ends))) {
			t.Errorf("%d ends are written: %v, %d records left", ends, err, n)
		}
	}
	for size, ok := range map[int]bool{maxHeadBytes: true, maxHeadBytes + 2: false} {
		if _, err := DecodeHeader(bytes.Repeat([]byte{0x20, 7}, size/2)); ok != (err == nil) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if _, err := DecodeHeader([]byte{0x3a, 0x02, 0x12, 0x05}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a torn end: %v", err)
	}
}

// smallestConn is the least that an agent can write of a connection: nothing was counted, nothing is known of its
// congestion control.
var smallestConn = record.Conn{Netns: 1, Cookie: 1, Window: 1767322800, AtNs: 1767322890123456789, Local: netip.MustParseAddrPort("192.0.2.2:22"), Prefix: 0xcb007100 | 24}

// TestRecordsAreBounded: as many as a writer puts into a batch, of the size of the smallest.
func TestRecordsAreBounded(t *testing.T) {
	var b Batch
	add := func(n int) {
		for range n {
			if err := b.Add(&smallestConn); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(maxConns)
	if _, size := b.Len(); size != 34*maxConns {
		t.Errorf("the smallest record has %.1f bytes", float64(size)/maxConns)
	}
	frame, err := b.AppendFrame(nil, &testHeader)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := CountConns(bodyOf(t, frame)); n != maxConns || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
	add(maxConns + 1)
	if _, err := b.AppendFrame(nil, &testHeader); err == nil || !strings.Contains(err.Error(), "1001 records") {
		t.Errorf("a batch is written that is too long: %v", err)
	}
	for name, body := range map[string][]byte{
		"one more":           append(bodyOf(t, frame), bodyOf(t, frame)...),
		"of 6 bytes":         bytes.Repeat([]byte{0x32, 0x04, 0x18, 0xac, 0x82, 0x00}, 131_067),
		"of 5, a batch":      bytes.Repeat([]byte{0x32, 0x03, 0x18, 0xac, 0x02}, maxConns),
		"empty":              bytes.Repeat([]byte{0x32, 0}, 100),
		"empty, of 16 MiB":   bytes.Repeat([]byte{0x32, 0}, 8<<20),
		"with a longer tag":  bytes.Repeat([]byte{0xb2, 0x00, 0}, 100),
		"behind many fields": append(bytes.Repeat([]byte{0x20, 1}, 100), bytes.Repeat([]byte{0x32, 0}, 100)...),
	} {
		rows := 0
		count := func(*Header, *record.Conn) error { rows++; return nil }
		if err := DecodeBatch(body, count); !errors.Is(err, ErrDamaged) || rows > 0 || !strings.Contains(err.Error(), "conns") {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
		if n, err := CountConns(body); n != 0 || !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: counted %d, %v", name, n, err)
		}
	}
}

// TestNames: what is whole or refused, and what is cut.
func TestNames(t *testing.T) {
	long := strings.Repeat("\x1b[2J", 15_000)
	sent := &congctlv1.Batch{Host: "edge1", Pop: "fra", CongctlVersion: long, WindowEnds: []*congctlv1.WindowEnd{{Unknown: long, Starved: "a\nb", DefaultCongs: []string{"bbr", "bbr", "cubic"}}}}
	body := func(edit func(*congctlv1.Batch)) []byte {
		m := proto.Clone(sent).(*congctlv1.Batch)
		edit(m)
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	h, err := DecodeHeader(body(func(*congctlv1.Batch) {}))
	e := append(h.Ends, WindowEnd{})[0]
	if err != nil || len(h.CongctlVersion) != maxWord || len(e.Unknown) != foreign.MaxText || strings.Contains(e.Unknown, "\x1b") || e.Starved != "a?b" || len(e.DefaultCongs) != 2 {
		t.Errorf("%+v, %v", h, err)
	}
	for name, edit := range map[string]func(*congctlv1.Batch){
		"host":          func(m *congctlv1.Batch) { m.Host = strings.Repeat("h", maxName+1) },
		"pop":           func(m *congctlv1.Batch) { m.Pop = "a\u202eb" },
		"boot_id":       func(m *congctlv1.Batch) { m.BootId = make([]byte, 1<<17) },
		"default_congs": func(m *congctlv1.Batch) { m.WindowEnds[0].DefaultCongs = []string{long} },
		"more than 32": func(m *congctlv1.Batch) {
			for i := range maxKinds {
				m.WindowEnds[0].DefaultCongs = append(m.WindowEnds[0].DefaultCongs, fmt.Sprint(i))
			}
		},
	} {
		if h, err := DecodeHeader(body(edit)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), name) || len(err.Error()) > foreign.MaxText || !cmp.Equal(h, Header{}) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
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
		var want Header
		if serr := slowHeader(b, &want); serr == nil && !cmp.Equal(want, h) {
			t.Fatalf("the library reads another header (-want +got):\n%s", cmp.Diff(want, h))
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
