package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse/clickhousetest"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/record"
)

// windowStart is in the middle of a day.
const windowStart = 1_800_000_000 / 300 * 300

var sameAddr = cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// windows are those of random records.
var windows = []int64{windowStart, windowStart + 300, windowStart + daySeconds, 0, -1, math.MaxInt64, math.MinInt64}

// oddPoP is a name that SQL could stumble over.
const oddPoP = "o'pop\\' OR 1=1 -- ?\""

func header(boot byte, sequence uint64) wire.Header {
	return wire.Header{Boot: record.BootID{0, boot, 0xff, '\''}, Host: fmt.Sprint("edge", boot), PoP: oddPoP, Sequence: sequence}
}

// newStore starts a server with a schema.
func newStore(t testing.TB) *Store {
	t.Helper()
	server := clickhousetest.Start(t)
	return initialised(t, server.Address())
}

func initialised(t testing.TB, address string) *Store {
	t.Helper()
	if engine, ok := strings.CutPrefix(address, "http://"); ok {
		address, protocol = "clickhouse://"+engine, driver.HTTP
		t.Cleanup(func() { protocol = driver.Native })
	}
	_, err := Init(t.Context(), address)
	check(t, err)
	s, err := Open(t.Context(), address)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func insert(t testing.TB, s *Store, batches ...batchtest.Batch) {
	t.Helper()
	w := s.NewWriter(0)
	for _, b := range batches {
		check(t, w.Add(b.Body))
	}
	check(t, w.Insert(t.Context()))
}

func read(t testing.TB, s *Store, pop string, window int64) (conns []record.Conn) {
	t.Helper()
	check(t, s.Conns(t.Context(), pop, window, func(_ string, c *record.Conn) error {
		conns = append(conns, *c)
		return nil
	}))
	return conns
}

// want is what the batches have of a window, in the promised order.
func want(batches []batchtest.Batch, window int64) (conns []record.Conn) {
	sorted := slices.Clone(batches)
	slices.SortFunc(sorted, func(a, b batchtest.Batch) int {
		if c := slices.Compare(a.Head.Boot[:], b.Head.Boot[:]); c != 0 {
			return c
		}
		return int(a.Head.Sequence) - int(b.Head.Sequence)
	})
	for _, b := range sorted {
		for _, c := range b.Conns {
			if c.Window == window {
				conns = append(conns, c)
			}
		}
	}
	return conns
}

func randomBatches(t testing.TB, rng *rand.Rand) (batches []batchtest.Batch) {
	for boot := range byte(3) {
		for sequence := range uint64(8) {
			var conns []record.Conn
			for range 1 + rng.IntN(60) {
				conns = append(conns, batchtest.Random(rng, windows...))
			}
			batches = append(batches, batchtest.New(t, header(boot+1, sequence+1), conns...))
		}
	}
	return batches
}

// TestRoundTrip: every field comes back to the last bit, in the order of the names, although a
// tenth of the batches comes twice and all in another order.
func TestRoundTrip(t *testing.T) { roundTrip(t, newStore(t)) }

func roundTrip(t *testing.T, s *Store) {
	rng := rand.New(rand.NewPCG(1, 7))
	batches := randomBatches(t, rng)
	sent := slices.Concat(batches, batches[:3], batches[10:12])
	rng.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
	for part := range slices.Chunk(sent, 5) {
		insert(t, s, part...)
	}
	insert(t, s, batchtest.New(t, wire.Header{Boot: record.BootID{9}, PoP: "other", Sequence: 1}, record.Conn{Window: windowStart}))
	for _, w := range windows {
		wanted, got := want(batches, w), read(t, s, oddPoP, w)
		if len(wanted) < 20 {
			t.Fatalf("window %d: the test has only %d records", w, len(wanted))
		}
		if d := cmp.Diff(wanted, got, sameAddr); d != "" {
			t.Fatalf("window %d: %d records, want %d (-want +got):\n%s", w, len(got), len(wanted), d)
		}
	}
	if got := read(t, s, "nowhere' OR pop != '", windowStart); len(got) > 0 {
		t.Errorf("%d records of a PoP that sent none", len(got))
	}
}

// TestFloatsKeepTheirBits also where two that differ are equal.
func TestFloatsKeepTheirBits(t *testing.T) {
	s := newStore(t)
	values := []float64{math.Copysign(0, -1), math.NaN(), math.Inf(1), math.SmallestNonzeroFloat64, math.MaxFloat64, 0.1}
	var conns []record.Conn
	for _, v := range values {
		conns = append(conns, record.Conn{Window: windowStart, RateBytesPerS: v})
	}
	insert(t, s, batchtest.New(t, header(1, 1), conns...))
	for i, c := range read(t, s, oddPoP, windowStart) {
		if math.Float64bits(c.RateBytesPerS) != math.Float64bits(values[i]) {
			t.Errorf("%x came back as %x", values[i], c.RateBytesPerS)
		}
	}
}

// TestSameWindowRows: the aggregator makes the same rows of what the store reads as of the records
// themselves, to the last digit.
func TestSameWindowRows(t *testing.T) { sameWindowRows(t, newStore(t)) }

func sameWindowRows(t *testing.T, s *Store) {
	rng := rand.New(rand.NewPCG(2, 7))
	var batches []batchtest.Batch
	for sequence := range uint64(40) {
		var conns []record.Conn
		for range 50 {
			conns = append(conns, clientConn(rng))
		}
		batches = append(batches, batchtest.New(t, header(byte(sequence%4), sequence+1), conns...))
	}
	wanted := aggregate(want(batches, windowStart))
	if len(wanted) < 50 {
		t.Fatalf("only %d rows", len(wanted))
	}
	rng.Shuffle(len(batches), func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
	insert(t, s, batches[:25]...)
	insert(t, s, batches[20:]...)
	for name, get := range map[string]func(context.Context, string, int64, func(string, *record.Conn) error) error{"whole": s.Conns, "counted": s.Counted} {
		var got []record.Conn
		check(t, get(t.Context(), oddPoP, windowStart, func(_ string, c *record.Conn) error { got = append(got, *c); return nil }))
		if d := cmp.Diff(wanted, aggregate(got)); d != "" {
			t.Errorf("other rows of %s records (-want +got):\n%s", name, d)
		}
	}
	for _, name := range counted {
		if !slices.ContainsFunc(new(row).columns(), func(c column) bool { return c.name() == name }) {
			t.Errorf("no column %s", name)
		}
	}
}

// clientConn is a record that counts, of one of forty networks.
func clientConn(rng *rand.Rand) record.Conn {
	c := batchtest.Random(rng, windows...)
	c.Window, c.ClientFacing, c.Passive = windowStart, true, true
	c.Prefix = record.Prefix(0xcb000000 + rng.Uint64N(40)<<8 | 24)
	c.Assigned, c.Applied = record.Arm(rng.IntN(3)), record.Applied(rng.IntN(3))
	c.Cong, c.RateSource = []string{"cubic", "bbr"}[rng.IntN(2)], record.RateMean
	c.WinBytesAcked, c.RateBytesPerS = 100_000+rng.Uint64N(1e7), rng.Float64()*1e7
	c.CrossedNs = windowStart*1e9 + rng.Int64N(120e9) // half of them in the wash-out
	return c
}

func aggregate(conns []record.Conn) []record.Window {
	a := window.New(window.Config{WindowSeconds: 300, BlockSeconds: 1800, WashoutSeconds: 60, MinBytes: 100_000, MaxPrefixes: 1000})
	for i := range conns {
		a.Add(&conns[i])
	}
	rows, _ := a.Flush(windowStart)
	return rows
}

// TestKillBetweenInsertAndCommit: what an inserter had sent when it died is there, in part or
// whole; who comes after it sends all of it again.
func TestKillBetweenInsertAndCommit(t *testing.T) {
	server := clickhousetest.Start(t)
	s := initialised(t, server.Address())
	rng := rand.New(rand.NewPCG(3, 7))
	batches := randomBatches(t, rng)
	insert(t, s, batches[:9]...)                                       // and its offset was never committed
	half := batchtest.New(t, batches[9].Head, batches[9].Conns[:1]...) // a part of a batch, as of a partition
	insert(t, s, half)
	server.Kill()
	w := s.NewWriter(0)
	for _, b := range batches {
		check(t, w.Add(b.Body))
	}
	rows := w.Rows()
	if err := w.Insert(t.Context()); err == nil || w.Rows() != rows {
		t.Fatalf("an insert without a server: %v, %d of %d rows wait", err, w.Rows(), rows)
	}
	server.Start()
	for range 5 { // connections of the dead server end one by one
		if err := w.Insert(t.Context()); err == nil {
			break
		}
	}
	if w.Rows() != 0 {
		t.Fatalf("%d rows wait", w.Rows())
	}
	if d := cmp.Diff(want(batches, windowStart), read(t, s, oddPoP, windowStart), sameAddr); d != "" {
		t.Errorf("after the kill (-want +got):\n%s", d)
	}
}

func TestEnds(t *testing.T) { endsOnce(t, newStore(t)) }

func endsOnce(t *testing.T, s *Store) {
	h := header(1, 3)
	h.Ends = []wire.WindowEnd{{Start: windowStart, Unknown: "wall clock stepped", Starved: "steal", DefaultCongs: []string{"cubic", ""}}, {Start: windowStart + 300}}
	alone, early := batchtest.New(t, h), header(2, 1)
	early.Ends = []wire.WindowEnd{{Start: windowStart - 300}, {Start: windowStart}}
	insert(t, s, alone, batchtest.New(t, early, record.Conn{Window: windowStart}))
	insert(t, s, alone)
	var got []string
	check(t, s.Ends(t.Context(), oddPoP, windowStart, func(h *wire.Header, e *wire.WindowEnd) error {
		got = append(got, fmt.Sprint(h.Host, h.Boot[1], h.Sequence, *e))
		return nil
	}))
	wanted := []string{
		fmt.Sprint("edge1", 1, 3, h.Ends[0]), fmt.Sprint("edge2", 2, 1, early.Ends[1]), fmt.Sprint("edge1", 1, 3, wire.WindowEnd{Start: windowStart + 300, DefaultCongs: []string{}}),
	}
	if d := cmp.Diff(wanted, got); d != "" {
		t.Errorf("ends (-want +got):\n%s", d)
	}
}

func TestWriterRefuses(t *testing.T) {
	now := time.Unix(windowStart, 0)
	w := (&Store{}).NewWriter(48 * time.Hour)
	w.now = func() time.Time { return now }
	good := batchtest.New(t, header(1, 1), record.Conn{Window: windowStart}, record.Conn{Window: windowStart - 47*3600})
	check(t, w.Add(good.Body))
	for name, b := range map[string][]byte{
		"no boot":    batchtest.New(t, wire.Header{PoP: "a", Sequence: 1}, record.Conn{Window: windowStart}).Body,
		"no pop":     batchtest.New(t, wire.Header{Boot: record.BootID{1}, Sequence: 1}).Body,
		"no number":  batchtest.New(t, wire.Header{Boot: record.BootID{1}, PoP: "a"}).Body,
		"old":        batchtest.New(t, header(1, 2), record.Conn{Window: windowStart}, record.Conn{Window: windowStart - 49*3600}).Body,
		"future":     batchtest.New(t, header(1, 2), record.Conn{Window: windowStart + 2*3600}).Body,
		"future end": batchtest.New(t, wire.Header{Boot: record.BootID{1}, PoP: "a", Sequence: 1, Ends: []wire.WindowEnd{{Start: windowStart}, {Start: math.MaxInt64}}}).Body,
		"torn":       good.Body[:len(good.Body)-1],
		"no batch":   []byte("hello"),
	} {
		if err := w.Add(b); err == nil {
			t.Errorf("%s: taken", name)
		}
		if w.Rows() != 2 {
			t.Fatalf("%s: %d rows are kept of it", name, w.Rows()-2)
		}
	}
}

func TestSchema(t *testing.T) {
	server := clickhousetest.Start(t)
	ctx := t.Context()
	if _, err := Open(ctx, server.Address()); err == nil {
		t.Error("opened a database that is not there")
	}
	s := initialised(t, server.Address())
	check(t, s.Check(ctx))
	if did, err := Init(ctx, server.Address()); err != nil || len(did) > 0 {
		t.Errorf("the second init did %v, %v", did, err)
	}
	check(t, s.do(ctx, "drop", "ALTER TABLE records DROP COLUMN capped"))
	if err := s.Check(ctx); !errors.Is(err, ErrBehind) {
		t.Errorf("a column is missing: %v", err)
	}
	if did, err := s.Migrate(ctx); err != nil || !slices.Equal(did, []string{"column capped"}) {
		t.Errorf("migrate did %v, %v", did, err)
	}
	check(t, s.Check(ctx))
	check(t, s.do(ctx, "note", "INSERT INTO schema_versions SELECT 99, now()"))
	if _, err := s.Migrate(ctx); err == nil || s.Check(ctx) == nil {
		t.Error("a schema of a newer build was taken")
	}
	check(t, s.do(ctx, "drop", "DROP TABLE schema_versions"))
	if err := s.Check(ctx); !errors.Is(err, ErrNoSchema) {
		t.Errorf("no schema: %v", err)
	}
}

// TestSchemaBefore brings a schema of version 2, of a build that had a column less, to this one's: its records are there,
// each once, though a migration died before, and meanwhile an older ingest inserts none that would be lost.
func TestSchemaBefore(t *testing.T) { schemaBefore(t, newStore(t)) }

func schemaBefore(t *testing.T, s *Store) {
	ctx := t.Context()
	views, err := os.ReadFile("testdata/windows_v2.sql")
	check(t, err)
	for _, sql := range slices.Concat(dropWindows(), []string{"DROP TABLE records"}, steps[0].sql(s.can), strings.Split(string(views), ";\n\n"),
		[]string{"DROP TABLE schema_versions", "CREATE TABLE schema_versions (version UInt32, at DateTime) ENGINE = MergeTree ORDER BY version",
			"INSERT INTO schema_versions SELECT 2, now()"}) {
		check(t, s.do(ctx, "go back", sql))
	}
	rng, h := rand.New(rand.NewPCG(3, 4)), header(1, 1)
	before := newWaiting("conns", (*row).columns)
	want := oddConns()
	for range 500 {
		want = append(want, batchtest.Random(rng, windowStart))
	}
	for i := range want {
		want[i].Capped = false
		*before.next() = row{batchName{h.PoP, h.Host, string(h.Boot[:]), h.Sequence}, uint32(i), want[i]}
	}
	check(t, before.insert(ctx, s.conn))
	for _, sql := range append(steps[2].sql(s.can), "ALTER TABLE conns DROP COLUMN capped") {
		check(t, s.do(ctx, "die", sql))
	}
	if err := before.insert(ctx, s.conn); err == nil {
		t.Error("an older ingest still inserts")
	}
	did, err := s.Migrate(ctx)
	if err != nil || !slices.Equal(did, []string{"column capped", steps[2].what, steps[3].what, steps[4].what}) {
		t.Fatalf("migrate did %v, %v", did, err)
	}
	check(t, s.Check(ctx))
	if d := cmp.Diff(want, read(t, s, oddPoP, windowStart), sameAddr); d != "" {
		t.Errorf("records (-want +got):\n%.2000s", d)
	}
	if err := s.do(ctx, "look", "SELECT 1 FROM conns"); err == nil {
		t.Error("the table before is still there")
	}
	var levels uint64
	check(t, s.conn.QueryRow(ctx, "SELECT count() FROM system.tables WHERE database = ? AND name LIKE 'windows%'", s.database).Scan(&levels))
	if want := len(createWindows()); levels != uint64(want) {
		t.Errorf("%d views, want %d", levels, want)
	}
	check(t, s.do(ctx, "read", "SELECT rate_p50_bytes_per_s FROM windows"))
}

// TestRetain drops whole days, of both tables, and leaves the border's.
func TestRetain(t *testing.T) { retain(t, newStore(t)) }

func retain(t *testing.T, s *Store) {
	day := int64(windowStart / daySeconds * daySeconds)
	h, rng := header(1, 1), rand.New(rand.NewPCG(1, 1))
	var conns []record.Conn
	for d := range int64(4) {
		conns = append(conns, batchtest.Client(rng, day+d*daySeconds), batchtest.Client(rng, day+(d+1)*daySeconds-300))
	}
	h.Ends = []wire.WindowEnd{{Start: day}, {Start: day + 3*daySeconds}}
	insert(t, s, batchtest.New(t, h, conns...))
	if n, err := s.Retain(t.Context(), day+2*daySeconds+100); err != nil || n != 3 {
		t.Errorf("dropped %d, %v; want 2 days of conns and one of window_ends", n, err)
	}
	for i, c := range conns {
		if n := len(read(t, s, oddPoP, c.Window)); n != 1 && i >= 4 || n != 0 && i < 4 {
			t.Errorf("window %d of day %d: %d records", c.Window, i/2, n)
		}
	}
	ends := 0
	check(t, s.Ends(t.Context(), oddPoP, 0, func(*wire.Header, *wire.WindowEnd) error { ends++; return nil }))
	if ends != 1 {
		t.Errorf("%d ends, want 1", ends)
	}
}
