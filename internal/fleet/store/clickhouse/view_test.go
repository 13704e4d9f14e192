package clickhouse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/record"
)

// figureColumns are those of SQLite's table windows, but for washout and sum, and where a Window has them.
func figureColumns(w *record.Window) (names []string, into []any, take func()) {
	var prefix, start int64
	var arm, carryover, control, capped uint8
	add := func(name string, at any) { names, into = append(names, name), append(into, at) }
	add("start", &start)
	add("prefix", &prefix)
	add("arm", &arm)
	add("cong", &w.Cong)
	add("carryover", &carryover)
	add("control", &control)
	add("conns", &w.Conns)
	add("eligible", &w.Eligible)
	add("rate_means", &w.RateMeans)
	add("bytes", &w.Bytes)
	for i, q := range []string{"05", "10", "20", "50", "80"} {
		add("rate_p"+q+"_bytes_per_s", &w.RateBytesPerS[i])
	}
	add("min_rtt_us", &w.MinRTTUs)
	add("srtt_us", &w.SRTTUs)
	add("retrans_share", &w.RetransShare)
	add("rwnd_share", &w.RwndShare)
	add("busy_share", &w.BusyShare)
	add("app_limited_share", &w.AppLimitedShare)
	add("log_rate_mean", &w.LogRateMean)
	add("log_rate_var", &w.LogRateVar)
	add("eligible_sent_bytes", &w.EligibleSentBytes)
	add("eligible_retrans_bytes", &w.EligibleRetransBytes)
	add("capped", &capped)
	add("log_goodput_mean", &w.LogGoodputMean)
	add("log_goodput_var", &w.LogGoodputVar)
	add("episodes", &w.Episodes)
	add("late_conns", &w.LateConns)
	add("late_p50_bytes_per_s", &w.LateBytesPerS[0])
	add("late_p95_bytes_per_s", &w.LateBytesPerS[1])
	return names, into, func() {
		w.Start, w.Prefix, w.Arm = start, record.Prefix(prefix), record.Arm(arm)
		w.Carryover, w.Control, w.Capped = carryover != 0, control != 0, capped != 0
	}
}

func readView(t *testing.T, s *Store, pop string, start int64) (rows []record.Window) {
	t.Helper()
	var w record.Window
	names, into, take := figureColumns(&w)
	r, err := s.conn.Query(t.Context(), "SELECT "+strings.Join(names, ", ")+" FROM windows WHERE pop = ? AND start = ? ORDER BY toUInt64(prefix), arm, cong, carryover, control, capped", pop, start)
	check(t, err)
	defer r.Close()
	for r.Next() {
		check(t, r.Scan(into...))
		take()
		rows = append(rows, w)
	}
	check(t, r.Err())
	return rows
}

// crowdedConn is any record of one of six networks, or of another,, some of whose clients have most; what it moved
// is what a connection can move, or sums of floats would lose the last digits of whole numbers.
func crowdedConn(rng *rand.Rand) record.Conn {
	c := batchtest.Random(rng, windowStart)
	c.ClientFacing, c.Passive = rng.IntN(9) > 0, rng.IntN(9) > 0
	if c.Prefix == 0 || rng.IntN(4) > 0 {
		c.Prefix = record.Prefix(0xcb000000 + rng.Uint64N(6)<<8 | 24)
	}
	for _, v := range []*uint64{&c.WinBytesSent, &c.WinBytesRetrans, &c.WinElapsedUs, &c.WinBusyUs, &c.WinRwndLimitedUs, &c.WinCountedBytesAcked, &c.WinCountedBusyUs} {
		*v &= 1<<32 - 1
	}
	c.WinBytesAcked = uint64(math.Exp(12 + rng.NormFloat64()))
	c.Weight = []float64{0, 0, 1, 3.5, 17}[rng.IntN(5)]
	c.Assigned, c.Carryover, c.Capped = record.Arm(rng.IntN(3)), rng.IntN(9) == 0, rng.IntN(9) == 0
	c.Cong = []string{"cubic", "bbr"}[rng.IntN(2)]
	c.RateBytesPerS, c.LateBytesPerS = math.Abs(c.RateBytesPerS), math.Abs(c.LateBytesPerS)
	return c
}

// TestView: the view has the rows that the aggregator makes of the same records, in every column and to
// the last digit; logarithms to 12.
func TestView(t *testing.T) {
	s := newStore(t)
	for _, name := range []string{"rate_p50_bytes_per_s", "busy_share", "late_conns", "log_rate_var"} {
		check(t, s.do(t.Context(), "read "+name, "SELECT "+name+" FROM windows")) // 18.16 leaves out what is not asked for
	}
	viewAgrees(t, s)
}

func viewAgrees(t *testing.T, s *Store) {
	rng := rand.New(rand.NewPCG(4, 7))
	var batches []batchtest.Batch
	for sequence := range uint64(120) {
		var conns []record.Conn
		for range 100 {
			conns = append(conns, crowdedConn(rng))
		}
		batches = append(batches, batchtest.New(t, header(byte(sequence%4), sequence+1), conns...))
	}
	insert(t, s, batches[:80]...)
	insert(t, s, batches[60:]...) // a sixth comes twice
	a := window.New(window.Config{WindowSeconds: 300, BlockSeconds: 1800, MinBytes: viewEligible, MaxPrefixes: 10_000})
	for _, c := range want(batches, windowStart) {
		a.Add(&c)
	}
	wanted, _ := a.Flush(windowStart)
	got := readView(t, s, oddPoP, windowStart)
	some := map[record.Prefix]bool{}
	for _, w := range got {
		some[w.Prefix] = some[w.Prefix] || w.Eligible > 0
	}
	got = slices.DeleteFunc(got, func(w record.Window) bool { return !some[w.Prefix] })
	large := 0
	for _, w := range wanted {
		if w.Eligible >= 20 && w.LateConns > 0 && w.RwndShare > 0 {
			large++
		}
	}
	if len(wanted) < 200 || large < 15 {
		t.Fatalf("only %d rows, %d of them large", len(wanted), large)
	}
	if d := cmp.Diff(wanted, got, cmp.FilterPath(func(p cmp.Path) bool {
		return strings.HasPrefix(fmt.Sprint(p.Last()), ".Log")
	}, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(a)) }))); d != "" {
		t.Errorf("%d rows, want %d (-want +got):\n%.6000s", len(got), len(wanted), d)
	}
}
