package wire

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

var sameValues = cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })

func TestEncodeEqualsProtobuf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		c := anyConn(rng)
		var m congctlv1.Conn
		if err := proto.Unmarshal(encode(nil, c), &m); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(asMessage(c), &m, protocmp.Transform()); d != "" {
			t.Fatalf("protobuf reads another record (-want +got):\n%s", d)
		}
	}
}

func TestDecodeEqualsProtobuf(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		c := anyConn(rng)
		b, err := proto.Marshal(asMessage(c))
		if err != nil {
			t.Fatal(err)
		}
		got := *anyConn(rng) // what was there before must not shine through
		if err := Decode(b, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(*c, got, sameValues); d != "" {
			t.Fatalf("Decode of protobuf's bytes (-want +got):\n%s", d)
		}
	}
}

// Each field of a record, set alone, arrives alone: none is forgotten, none is
// mixed up with another.
func TestEveryFieldIsCarried(t *testing.T) {
	var c record.Conn
	n := 0
	for _, path := range leaves(reflect.TypeFor[record.Conn](), nil) {
		c = record.Conn{}
		f := reflect.ValueOf(&c).Elem().FieldByIndex(path)
		setOne(f)
		name := reflect.TypeFor[record.Conn]().FieldByIndex(path).Name
		b := encode(nil, &c)
		var got record.Conn
		if err := Decode(b, &got); err != nil || got != c || len(b) == 0 {
			t.Errorf("field %s: %d bytes, %v:\n%s", name, len(b), err, cmp.Diff(c, got, sameValues))
		}
		n++
	}
	if want := 110; n < want {
		t.Errorf("only %d fields were found in record.Conn", n)
	}
	t.Logf("%d fields", n)
}

func leaves(t reflect.Type, path []int) (all [][]int) {
	for i := range t.NumField() {
		f := t.Field(i)
		here := append(append([]int{}, path...), i)
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[netip.AddrPort]() {
			all = append(all, leaves(f.Type, here)...)
		} else {
			all = append(all, here)
		}
	}
	return all
}

func setOne(f reflect.Value) {
	switch f.Kind() {
	case reflect.Bool:
		f.SetBool(true)
	case reflect.String:
		f.SetString("dctcp")
	case reflect.Int, reflect.Int64:
		f.SetInt(2)
	case reflect.Float64:
		f.SetFloat(2)
	case reflect.Struct:
		f.Set(reflect.ValueOf(netip.MustParseAddrPort("203.0.113.7:443")))
	default:
		if f.Type() == reflect.TypeFor[record.Prefix]() {
			f.SetUint(0xcb007100 | 24)
			return
		}
		f.SetUint(2)
	}
}

// encode appends c as a message Conn.
func encode(dst []byte, c *record.Conn) []byte {
	var part []byte
	return appendConn(dst, &part, c)
}

// The contract has no field that is never filled.
func TestEveryMessageFieldHasAnOwner(t *testing.T) {
	others := map[string]bool{"Local": true, "Remote": true, "LocalPort": true, "RemotePort": true,
		"Prefix": true, "Info": true, "Bbr": true, "Cong": true}
	check := func(list []pair, message reflect.Type, others map[string]bool) {
		owners := map[int]int{}
		for _, p := range list {
			owners[p.message]++
		}
		for i := range message.NumField() {
			f := message.Field(i)
			if want := 1; f.IsExported() && !others[f.Name] && owners[i] != want || others[f.Name] && owners[i] != 0 {
				t.Errorf("message %s: field %s has no owner, or two", message.Name(), f.Name)
			}
		}
	}
	check(connPairs, reflect.TypeFor[congctlv1.Conn](), others)
	check(infoPairs, reflect.TypeFor[congctlv1.TcpInfo](), nil)
	check(bbrPairs, reflect.TypeFor[congctlv1.BbrInfo](), nil)
}

// The numbers of the enums are the record's numbers.
func TestEnumsAgree(t *testing.T) {
	arms := map[string]string{"none": "NONE", "T": "TREATMENT", "C": "CONTROL", "hold-out": "HOLDOUT", "A/A": "AA", "unknown": "UNKNOWN"}
	for i, name := range congctlv1.Arm_name {
		if name != "ARM_"+arms[record.Arm(i).String()] {
			t.Errorf("arm %d is %s on the wire and %s in a record", i, name, record.Arm(i))
		}
	}
	// The kill switch has been called stop since the wire was fixed.
	short := map[string]string{"T": "TREATMENT", "C": "CONTROL", "NONE_STOPPED": "NONE_KILLED"}
	for i, name := range congctlv1.Applied_name {
		want := strings.ToUpper(strings.ReplaceAll(record.Applied(i).String(), "-", "_"))
		if long, ok := short[want]; ok {
			want = long
		}
		if name != "APPLIED_"+want {
			t.Errorf("applied %d is %s on the wire and %s in a record", i, name, record.Applied(i))
		}
	}
	for i, name := range congctlv1.End_name {
		if name != "END_"+strings.ToUpper(record.End(i).String()) {
			t.Errorf("end %d is %s on the wire and %s in a record", i, name, record.End(i))
		}
	}
	for i, name := range congctlv1.RateSource_name {
		if name != "RATE_SOURCE_"+strings.ToUpper(record.RateSource(i).String()) {
			t.Errorf("rate source %d is %s on the wire and %s in a record", i, name, record.RateSource(i))
		}
	}
	if len(congctlv1.Arm_name) != int(record.ArmUnknown)+1 || len(congctlv1.Applied_name) != int(record.AppliedUnknown)+1 {
		t.Error("an arm of record has no number on the wire")
	}
}

func TestDecodeRefuses(t *testing.T) {
	marshal := func(m *congctlv1.Conn) []byte {
		b, err := proto.MarshalOptions{}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		want string
		b    []byte
	}{
		{"field remote: 5 bytes", marshal(&congctlv1.Conn{Remote: make([]byte, 5)})},
		{"field prefix: 01 02", marshal(&congctlv1.Conn{Prefix: []byte{1, 2}})},
		{"outside ::/32", marshal(&congctlv1.Conn{Prefix: make([]byte, 7)})},
		{"field local_port", marshal(&congctlv1.Conn{LocalPort: 65536})},
		{"field State: value 256 is above 255", marshal(&congctlv1.Conn{Info: &congctlv1.TcpInfo{State: 256}})},
		{"field TotalRto", marshal(&congctlv1.Conn{Info: &congctlv1.TcpInfo{TotalRto: 1 << 16}})},
		{"field End: value 3", marshal(&congctlv1.Conn{End: 3})},
		{"field End: value -1", marshal(&congctlv1.Conn{End: -1})},
		{"field cong", protowire.AppendString(protowire.AppendTag(nil, 13, protowire.BytesType), "\xff")},
		{"field cong", marshal(&congctlv1.Conn{Cong: "0123456789abcdef"})},
		{"field cong", marshal(&congctlv1.Conn{Cong: "a\nb"})},
		{"field cong", marshal(&congctlv1.Conn{Cong: strings.Repeat("\x1b", 1<<20)})},
		{"field local: 1048576 bytes", marshal(&congctlv1.Conn{Local: make([]byte, 1<<20)})},
		{"field prefix", marshal(&congctlv1.Conn{Prefix: make([]byte, 1<<20)})},
		{"invalid wire-format", []byte{0x08, 0x80}},
		{"invalid wire-format", []byte{0x80}},
		{"invalid wire-format", append(protowire.AppendTag(nil, 200, protowire.BytesType), 9)},
	} {
		if err := Decode(c.b, &record.Conn{}); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 200 {
			t.Errorf("want %q, got %.500v", c.want, err)
		}
	}
}

// A newer writer may know more arms and more fields.
func TestDecodeFromNewerWriter(t *testing.T) {
	b, err := proto.Marshal(&congctlv1.Conn{Assigned: 9, Applied: 99, Cookie: 5})
	if err != nil {
		t.Fatal(err)
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, 500, protowire.VarintType), 1)
	b = protowire.AppendString(protowire.AppendTag(b, 501, protowire.BytesType), "new")
	var c record.Conn
	want := record.Conn{Assigned: record.ArmUnknown, Applied: record.AppliedUnknown, Cookie: 5}
	if err := Decode(b, &c); err != nil || c != want {
		t.Errorf("%+v %v", c, err)
	}
}

func TestEncodeOddValues(t *testing.T) {
	c := record.Conn{Cong: "a\xffb", Prefix: 7, Remote: netip.MustParseAddrPort("[::ffff:192.0.2.1]:9")}
	var got record.Conn
	if err := Decode(encode(nil, &c), &got); err != nil {
		t.Fatal(err)
	}
	want := record.Conn{Cong: "a?b", Remote: netip.MustParseAddrPort("192.0.2.1:9")}
	if got != want {
		t.Errorf("%+v", got)
	}
}

// FuzzDecode holds Decode against the library with a slow, obvious copy of its message: what one
// takes, the other takes as the same record, and what one refuses, the other refuses.
func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		f.Add(encode(nil, anyConn(rng)))
	}
	f.Add([]byte{})
	f.Add([]byte("\xf0\x99\xee\xb800")) // a field number past the largest
	f.Add([]byte{0x5a, 0x02, 0x08, 0x01, 0x62, 0x00})
	f.Add([]byte{0x30, 0x05, 0x42, 0x01, 0x07}) // numbers of a record with another encoding
	f.Add(encode(encode(nil, anyConn(rng)), anyConn(rng)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, want := *typicalConn(), record.Conn{}
		err, wantErr := Decode(b, &c), slowDecode(b, &want)
		if err == nil && (wantErr != nil || !sameBits(&c, &want)) {
			t.Fatalf("the library has another record, %v (-want +got):\n%s", wantErr, cmp.Diff(want, c, sameValues))
		}
		if err != nil && wantErr == nil && !repeats(b) { // a fault in the first of two fields is one, too
			t.Fatalf("the library takes %x: %v", b, err)
		}
		var again record.Conn
		if err != nil {
			return
		}
		if err := Decode(encode(nil, &c), &again); err != nil || !sameBits(&c, &again) {
			t.Fatalf("the second reading differs: %v\n%s", err, cmp.Diff(c, again, sameValues))
		}
	})
}

// sameBits compares also floats that are no numbers.
func sameBits(a, b *record.Conn) bool { return bytes.Equal(encode(nil, a), encode(nil, b)) }

// repeats reports whether a message has a field twice, in any of its parts.
func repeats(b []byte) bool {
	var m congctlv1.Conn
	return proto.Unmarshal(b, &m) == nil && proto.Size(&m) < len(b)
}

// typicalConn is a download in progress, as an edge sees many.
func typicalConn() *record.Conn {
	return &record.Conn{
		Netns: 1, Cookie: 0x3001f2, Window: 1767322800, AtNs: 1767322890123456789,
		Local: netip.MustParseAddrPort("198.51.100.1:443"), Remote: netip.MustParseAddrPort("203.0.113.77:52011"),
		Prefix: 0xcb007100 | 24, Passive: true, ClientFacing: true, Cong: "cubic", DefaultCong: true,
		Assigned: record.ArmControl, Applied: record.AppliedControl, Plan: 412, Crossings: 2, CrossedNs: 1767322850123456789,
		WinBytesAcked: 5_432_100, WinBytesSent: 5_500_000, WinBytesRetrans: 43_440, WinBytesReceived: 1400,
		WinElapsedUs: 90_000_000, WinBusyUs: 12_345_678, WinRwndLimitedUs: 1000, WinRateSamples: 210, WinLimitedSamples: 12,
		RateBytesPerS: 612_345.678, RateSource: record.RateMean,
		Info: inetdiag.TCPInfo{State: 1, Options: 7, SndWscale: 7, RcvWscale: 7, RtoUs: 254_000, AtoUs: 40_000, SndMss: 1448, RcvMss: 536,
			Unacked: 21, LastDataSentMs: 4, LastAckSentMs: 90_000, LastDataRecvMs: 8000, LastAckRecvMs: 4, Pmtu: 1500, RcvSsthresh: 64_076,
			RttUs: 52_345, RttvarUs: 2345, SndSsthresh: 24, SndCwnd: 31, Advmss: 1448, Reordering: 3, RcvSpace: 14_600, TotalRetrans: 30,
			PacingRate: 1_028_000, MaxPacingRate: 1<<64 - 1, BytesAcked: 15_432_100, BytesReceived: 4400, SegsOut: 10_700, SegsIn: 5300,
			NotsentBytes: 400_000, MinRttUs: 41_200, DataSegsIn: 9, DataSegsOut: 10_690, DeliveryRate: 598_765, BusyTimeUs: 32_345_678,
			RwndLimitedUs: 1000, Delivered: 10_650, BytesSent: 15_500_000, BytesRetrans: 43_440, SndWnd: 300_032, RcvWnd: 65_535, Len: 248},
	}
}

func TestEncodeDoesNotAllocate(t *testing.T) {
	c, buf := typicalConn(), make([]byte, 0, 4096)
	var m message
	if n := testing.AllocsPerRun(100, func() { buf = m.append(buf[:0], c) }); n != 0 {
		t.Errorf("%v allocations for a record", n)
	}
}

func BenchmarkEncode(b *testing.B) {
	c, buf := typicalConn(), make([]byte, 0, 4096)
	var m message
	b.ReportAllocs()
	for b.Loop() {
		buf = m.append(buf[:0], c)
	}
	b.ReportMetric(float64(len(buf)), "B/record")
}

func BenchmarkDecode(b *testing.B) {
	buf := encode(nil, typicalConn())
	var c record.Conn
	b.ReportAllocs()
	for b.Loop() {
		if err := Decode(buf, &c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProtoMarshal(b *testing.B) {
	m := asMessage(typicalConn())
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = proto.MarshalOptions{}.MarshalAppend(buf[:0], m)
	}
}
