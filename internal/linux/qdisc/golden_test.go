package qdisc

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// specs are ours for the commands of testdata/tc.
var specs = map[string]Spec{
	"netem":          Netem{LimitPackets: 1000, DelayNs: 10e6, JitterNs: 1e6, LossPPM: 10_000, RateBytesPerS: BytesPerS(10e6)},
	"gemodel":        Netem{LimitPackets: 1_000_000, DelayNs: 25e6, Gilbert: &Gilbert{P: 10_000, R: 100_000, LossBad: 900_000, LossGood: 1_000}},
	"netem-fast":     Netem{LimitPackets: 1000, RateBytesPerS: BytesPerS(100e9)},
	"netem-reorder":  Netem{LimitPackets: 1000, DelayNs: 10e6, ReorderPPM: 10_000},
	"tbf":            Tbf{RateBytesPerS: BytesPerS(10e6), BurstBytes: 3028, LimitBytes: 150_000},
	"tbf-fast":       Tbf{RateBytesPerS: BytesPerS(40e9), BurstBytes: 65_536, LimitBytes: 1_500_000},
	"fq":             Fq{LimitPackets: 500},
	"fq-nopacing":    Fq{NoPacing: true},
	"fq_codel":       FqCodel{LimitPackets: 100, ECN: true},
	"fq_codel-noecn": FqCodel{},
	"pfifo":          Raw{Name: "pfifo", Options: u32(50)},
	"bfifo":          Raw{Name: "bfifo", Options: u32(30_000)},
	"police":         Police{RateBytesPerS: BytesPerS(8e6), BurstBytes: 10_000},
}

// What we send is compared with what tc sends, attribute by attribute: each difference
// stands in the golden text.
func TestOptionsAgainstTC(t *testing.T) {
	datadriven.RunTest(t, "testdata/tc", func(t *testing.T, d *datadriven.TestData) string {
		var name string
		d.ScanArgs(t, "spec", &name)
		s := specs[name]
		tc, err := hex.DecodeString(strings.Join(strings.Fields(d.Input), ""))
		if err != nil {
			t.Fatal(err)
		}
		var ours []byte
		if o := s.options(); o != nil {
			ours = o.Serialize()[4:]
		}
		var out strings.Builder
		fmt.Fprintln(&out, s)
		head := map[string]int{"netem": 24, "pfifo": 4, "bfifo": 4}[s.Kind()]
		tell(&out, "struct", tc[:head], ours[:head])
		compare(t, &out, s.Kind(), "", tc[head:], ours[head:])
		return out.String()
	})
}

func compare(t *testing.T, out *strings.Builder, kind, path string, tc, ours []byte) {
	a, b := attrs(t, tc), attrs(t, ours)
	for typ := range uint16(64) {
		at := fmt.Sprintf("%s/%d", path, typ)
		_, both := a[typ]
		if _, too := b[typ]; both && too && nested(kind, path, typ) {
			compare(t, out, kind, at, a[typ], b[typ])
			continue
		}
		tell(out, at, a[typ], b[typ])
	}
}

// nested knows which attributes hold others: netem's loss, and matchall's actions with
// their orders and options.
func nested(kind, path string, typ uint16) bool {
	if kind == "netem" {
		return path == "" && typ == 5
	}
	deep := strings.Count(path, "/")
	return kind == "police" && (typ == 2 && deep != 1 && deep < 3 || deep == 1)
}

func tell(out *strings.Builder, name string, tc, ours []byte) {
	switch {
	case tc == nil && ours == nil || len(tc)+len(ours) == 0:
	case bytes.Equal(tc, ours):
		fmt.Fprintf(out, "%s same: %s\n", name, short(ours))
	default:
		fmt.Fprintf(out, "%s tc: %s, ours: %s\n", name, short(tc), short(ours))
	}
}

func short(b []byte) string {
	if b == nil {
		return "none"
	}
	if len(b) > 64 {
		return fmt.Sprintf("%x... (%d bytes)", b[:16], len(b))
	}
	return fmt.Sprintf("%x", b)
}

func attrs(t *testing.T, b []byte) map[uint16][]byte {
	m := map[uint16][]byte{}
	if err := eachAttr(b, func(typ uint16, v []byte) error { m[typ] = v; return nil }); err != nil {
		t.Fatal(err)
	}
	return m
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(strings.Repeat("\x00", 20)), true)
	f.Fuzz(func(t *testing.T, b []byte, filter bool) {
		if filter {
			var c Counters
			_, _ = decodePolice(b, &c)
			_, _ = decodeFilter(b)
			return
		}
		if s, err := decode(b); err != nil && s.SeedTaken {
			t.Errorf("error %v, and a value", err)
		}
	})
}
