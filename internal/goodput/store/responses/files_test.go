package responses

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/tcp/record"
)

// noon is 2026-11-20T12:00:00Z.
const noon = 1_795_176_000

func batchAt(window int64) goodput.Batch {
	b := goodput.Batch{Window: window, BadLine: 2, Dropped: 3}
	b.Tally = accesslog.Tally{Responses: 10, Matched: 5, Bursts: 1, Small: 2, Carryover: 1, Buffered: 1, ConnsOverflow: 4}
	b.Tally.Unmatched[accesslog.NoConnection] = 4
	b.Tally.Unmatched[accesslog.Late] = 1
	for i := range int64(2) {
		b.Rows = append(b.Rows, goodput.Row{Key: goodput.Key{Window: window - i*300, Prefix: record.Prefix(0xcb007118), Arm: record.ArmTreatment, Tenant: "shop"},
			N: 3, Bytes: 600_000, BytesPerS: []float32{1.5, 200_000}})
	}
	return b
}

// read returns all that Read finds.
func read(t *testing.T, d Dir, from, to int64) (rows []goodput.Row, ends []goodput.Batch, torn int) {
	t.Helper()
	torn, err := d.Read(from, to, func(r *goodput.Row) { rows = append(rows, *r) }, func(b *goodput.Batch) { ends = append(ends, *b) })
	if err != nil {
		t.Fatal(err)
	}
	return rows, ends, torn
}

func TestRoundTrip(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "goodput"))
	if rows, ends, _ := read(t, d, 0, noon); rows != nil || ends != nil {
		t.Error("something in a folder that is not there")
	}
	b := batchAt(noon)
	if err := d.Append(b); err != nil {
		t.Fatal(err)
	}
	rows, ends, torn := read(t, d, noon-300, noon+300)
	if diff := cmp.Diff(b.Rows, rows); diff != "" || torn != 0 {
		t.Errorf("%d torn, rows (-want +got)\n%s", torn, diff)
	}
	b.Rows = nil
	if diff := cmp.Diff([]goodput.Batch{b}, ends); diff != "" {
		t.Errorf("ends (-want +got)\n%s", diff)
	}
	if rows, ends, _ := read(t, d, noon-300, noon); len(rows) != 1 || len(ends) != 0 {
		t.Errorf("bounds: %d rows, %d ends", len(rows), len(ends))
	}
}

// The line that ends a batch, as every version has written it.
func TestSettledLine(t *testing.T) {
	_, b, err := parseLine([]byte(`{"settled":1795176000,"responses":10,"matched":5,"bursts":1,"small":2,"carryover":1,"buffered":1,` +
		`"unmatched":{"late":1,"no-connection":4},"bad_lines":2,"dropped":3,"connections_not_followed":4}`))
	want := batchAt(noon)
	want.Rows = nil
	if diff := cmp.Diff(&want, b); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	text, err := appendBatch(nil, &goodput.Batch{Window: noon})
	if got := string(text); err != nil || got != `{"settled":1795176000,"responses":0,"matched":0}`+"\n" {
		t.Errorf("%s %v", got, err)
	}
}

// A row of yesterday's window stands in the file of the day on which it was settled.
func TestOverMidnight(t *testing.T) {
	d, midnight := Dir(t.TempDir()), int64(noon+12*3600)
	if err := d.Append(batchAt(midnight)); err != nil {
		t.Fatal(err)
	}
	if rows, _, _ := read(t, d, midnight-300, midnight); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}

// A crash in the middle of a write leaves half a line; what follows is whole.
func TestTorn(t *testing.T) {
	d := Dir(t.TempDir())
	if err := d.Append(batchAt(noon)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(d.file(noon))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.file(noon), text[:len(text)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(batchAt(noon + 300)); err != nil {
		t.Fatal(err)
	}
	if rows, ends, torn := read(t, d, 0, noon+3600); len(rows) != 4 || len(ends) != 1 || torn != 1 {
		t.Errorf("%d rows, %d ends, %d torn", len(rows), len(ends), torn)
	}
}

func TestDamage(t *testing.T) {
	for text, want := range map[string]string{
		`{"window_start":1,"prefix":"203.0.113.0/24","kind":"responses","arm":"T","n":1,"bytes":1,"bytes_per_s":[1],"more":1}`: "unknown field",
		`{"window_start":1,"prefix":"203.0.113.0/25","kind":"responses","arm":"T","n":1,"bytes":1,"bytes_per_s":[1]}`:          "/25",
		`{"window_start":1,"prefix":"203.0.113.0/24","kind":"responses","arm":"T","n":1,"bytes":1,"bytes_per_s":[1,2]}`:        "n 1: with 2 values",
		`{"window_start":1,"prefix":"203.0.113.0/24","kind":"responses","arm":"T","n":1,"bytes":1,"bytes_per_s":[-1]}`:         "below zero",
		`{"window_start":1,"kind":"responses","arm":"T","n":1,"bytes":1,"bytes_per_s":[1]}`:                                    "prefix: missing",
		`{"settled":1,"responses":1,"matched":1,"unmatched":{"gone":1}}`:                                                       "unknown to this version",
		`{"settled":1,"responses":1,"matched":1} {}`:                                                                           "more than one",
	} {
		d := Dir(t.TempDir())
		if err := os.WriteFile(d.file(noon), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := d.Read(0, noon, func(*goodput.Row) {}, func(*goodput.Batch) {})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPrune(t *testing.T) {
	d := Dir(t.TempDir())
	for i := range int64(4) {
		if err := d.Append(batchAt(noon + i*day)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"goodput-2026-11-21.jsonl ", "", ""} { // one a call
		if err := d.Prune(noon + 2*day); err != nil {
			t.Fatal(err)
		}
		if names, _ := d.names(); strings.Join(names, " ") != want+"goodput-2026-11-22.jsonl goodput-2026-11-23.jsonl" {
			t.Error(names)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	b := batchAt(noon)
	text, err := appendBatch(nil, &b)
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if r, b, err := parseLine(line); err == nil && (r == nil) == (b == nil) {
			t.Errorf("row %v, batch %v", r, b)
		}
	})
}
