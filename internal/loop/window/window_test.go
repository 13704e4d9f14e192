package window

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

// aggregatorOf returns an aggregator with what c leaves out.
func aggregatorOf(c Config) *Aggregator {
	c.WindowSeconds, c.BlockSeconds, c.WashoutSeconds, c.MinBytes = 300, 1800, 300, 100_000
	if c.MaxPrefixes == 0 {
		c.MaxPrefixes = 200_000
	}
	return New(c)
}

// TestNoWashout: a wash-out of 0 is none.
func TestNoWashout(t *testing.T) {
	a := New(Config{WindowSeconds: 300, BlockSeconds: 1800, MinBytes: 1, MaxPrefixes: 1, ArmAt: testArm})
	p, _ := record.PrefixOf(netip.MustParseAddr("203.0.113.7"))
	a.Add(&record.Conn{Window: 1800, Prefix: p, Passive: true, ClientFacing: true, DefaultCong: true, Assigned: record.ArmControl})
	if rows, _ := a.Flush(1800); len(rows) != 1 || rows[0].Washout || !rows[0].Control {
		t.Errorf("the first window of a control block: %+v", rows)
	}
}

// arms of the golden scripts: blocks alternate T, C for 203.0.113.0/24.
func testArm(p record.Prefix, unix int64) (record.Arm, bool) {
	switch p.String() {
	case "203.0.113.0/24":
		return record.ArmTreatment + record.Arm(unix/1800%2), true
	case "198.51.100.0/24":
		return record.ArmHoldout, true
	}
	return record.ArmNone, false
}

func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		a := aggregatorOf(Config{ArmAt: testArm})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				c := Config{ArmAt: testArm}
				d.MaybeScanArgs(t, "max-prefixes", &c.MaxPrefixes)
				a = aggregatorOf(c)
			case "add":
				cookie := uint64(0)
				for line := range strings.Lines(d.Input) {
					cookie++
					a.Add(parseConn(t, d, line, cookie))
				}
			case "flush":
				var start int64
				d.ScanArgs(t, "start", &start)
				return showFlush(a.Flush(start))
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			return ""
		})
	})
}

// parseConn reads "window=300 from=203.0.113.7 acked=150000 rate=1000 ..."; the
// connection is passive, client-facing and on the default unless it says otherwise.
func parseConn(t *testing.T, d *datadriven.TestData, line string, cookie uint64) *record.Conn {
	c := &record.Conn{Cookie: record.Cookie(cookie), Passive: true, ClientFacing: true, Cong: "cubic", DefaultCong: true}
	for _, kv := range strings.Fields(line) {
		k, v, _ := strings.Cut(kv, "=")
		var n uint64
		fmt.Sscan(v, &n)
		var err error
		switch k {
		case "window":
			c.Window = int64(n)
		case "from":
			comesFrom(c, netip.MustParseAddr(v))
		case "acked":
			c.WinBytesAcked = n
		case "sent":
			c.WinBytesSent = n
		case "retrans":
			c.WinBytesRetrans = n
		case "elapsed":
			c.WinElapsedUs = n
		case "busy":
			c.WinBusyUs = n
		case "rwnd":
			c.WinRwndLimitedUs = n
		case "samples":
			fmt.Sscanf(v, "%d+%d", &c.WinRateSamples, &c.WinLimitedSamples)
		case "mean":
			c.RateBytesPerS, c.RateSource = float64(n), record.RateMean
		case "last":
			c.RateBytesPerS, c.RateSource = float64(n), record.RateLast
		case "minrtt":
			c.Info.MinRttUs = uint32(n)
		case "srtt":
			c.Info.RttUs = uint32(n)
		case "cong":
			c.Cong, c.DefaultCong = v, v == "cubic"
		case "assigned":
			err = c.Assigned.UnmarshalText([]byte(v))
		case "applied":
			err = c.Applied.UnmarshalText([]byte(v))
		case "carryover":
			c.Carryover = true
		case "other-default":
			c.DefaultCong = false
		case "internal":
			c.ClientFacing = false
		default:
			if !setCounted(c, k, v) {
				d.Fatalf(t, "unknown field %q", k)
			}
		}
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	if c.WinCountedBytesSent == 0 { // all of it, unless the line says otherwise
		c.WinCountedBytesSent, c.WinCountedBytesRetrans = c.WinBytesSent, c.WinBytesRetrans
	}
	return c
}

// setCounted sets what of a connection counts, which only eBPF knows.
func setCounted(c *record.Conn, k, v string) bool {
	switch k {
	case "counted":
		fmt.Sscanf(v, "%d/%d", &c.WinCountedBytesSent, &c.WinCountedBytesRetrans)
	case "goodput": // acknowledged in so many us
		fmt.Sscanf(v, "%d/%d", &c.WinCountedBytesAcked, &c.WinCountedBusyUs)
	case "late": // rate, by so many samples
		fmt.Sscanf(v, "%f/%d", &c.LateBytesPerS, &c.WinLateSamples)
	case "episodes":
		fmt.Sscan(v, &c.WinEpisodes)
	case "capped":
		c.Capped = true
	case "crossed": // Unix seconds
		fmt.Sscan(v, &c.CrossedNs)
		c.CrossedNs *= 1e9
	default:
		return false
	}
	return true
}

func showFlush(rows []record.Window, st Stats) string {
	var b strings.Builder
	for _, w := range rows {
		fmt.Fprintf(&b, "%d %s %s %s", w.Start, w.Prefix, w.Arm, w.Cong)
		for _, f := range []struct {
			on   bool
			name string
		}{{w.Control, "control"}, {w.Carryover, "carryover"}, {w.Washout, "washout"}, {w.Capped, "capped"}} {
			if f.on {
				b.WriteString(" " + f.name)
			}
		}
		fmt.Fprintf(&b, ": conns=%d eligible=%d means=%d bytes=%d\n", w.Conns, w.Eligible, w.RateMeans, w.Bytes)
		fmt.Fprintf(&b, "  rate=%v minrtt=%v srtt=%v retrans=%.4g rwnd=%.4g busy=%.4g app-limited=%.4g\n",
			w.RateBytesPerS, w.MinRTTUs, w.SRTTUs, w.RetransShare, w.RwndShare, w.BusyShare, w.AppLimitedShare)
		if w.Eligible > 0 {
			fmt.Fprintf(&b, "  eligible: ln rate mean %.4f variance %.4f, %d bytes sent, %d of them again\n",
				w.LogRateMean, w.LogRateVar, w.EligibleSentBytes, w.EligibleRetransBytes)
		}
		if w.LogGoodputMean != 0 || w.LateConns > 0 || w.Episodes > 0 {
			fmt.Fprintf(&b, "  ln goodput mean %.4f variance %.4f, %d episodes, late rates of %d: %.6g\n",
				w.LogGoodputMean, w.LogGoodputVar, w.Episodes, w.LateConns, w.LateBytesPerS)
		}
	}
	fmt.Fprintf(&b, "records=%d internal=%d no-prefix=%d unknown=%d late=%d eligible=%d prefixes=%d evicted=%d/%d/%d\n",
		st.Records, st.NotClientFacing, st.NoPrefix, st.Unknown, st.Late, st.Eligible, st.Prefixes,
		st.EvictedPrefixes, st.EvictedConns, st.EvictedBytes)
	return b.String()
}

func drawConn(t *rapid.T, i int) *record.Conn {
	u := func(max uint64, name string) uint64 { return rapid.Uint64Range(0, max).Draw(t, name) }
	c := &record.Conn{
		Cookie: record.Cookie(i), Window: 300 * int64(u(1, "window")), Passive: u(9, "passive") > 0, ClientFacing: u(9, "facing") > 0,
		Prefix: record.Prefix(u(2, "prefix")<<8 | 24), Cong: []string{"cubic", "bbr"}[u(1, "cong")], DefaultCong: u(3, "default") > 0,
		Remote:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{0, 0, 0, byte(u(1, "client") * u(5, "which") * 50)}), 443), // often the same one
		Assigned: record.Arm(u(5, "arm")), Carryover: u(5, "carry") == 0,
		WinBytesAcked: u(200000, "acked"), WinBytesSent: u(200000, "sent"), WinBytesRetrans: u(20000, "retrans"),
		WinCountedBytesSent: u(200000, "counted"), WinCountedBytesRetrans: u(20000, "counted again"), WinBusyUs: u(1e6, "busy"), WinElapsedUs: u(1e6, "elapsed"), WinRwndLimitedUs: u(5e5, "rwnd"), WinRateSamples: uint32(u(9, "n")),
		RateBytesPerS: float64(u(1000, "rate")), RateSource: record.RateSource(u(2, "source")),
		WinCountedBytesAcked: []uint64{0, 14_479, 14_480, 100_000}[u(3, "counted acked")], WinCountedBusyUs: u(3, "counted busy") * 1e5, Capped: u(4, "capped") == 0,
		CrossedNs:   int64(u(1, "crossed") * u(2000, "at") * 1e9),
		WinEpisodes: uint32(u(3, "episodes")), WinLateSamples: uint32(u(6, "late")), LateBytesPerS: float64(u(1000, "late rate")),
	}
	c.Info.MinRttUs, c.Info.RttUs = uint32(u(100, "minrtt")), uint32(u(100, "srtt"))
	return c
}

// The order of records changes nothing, also where rows are sampled.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conns := make([]*record.Conn, rapid.IntRange(0, 60).Draw(t, "conns"))
		for i := range conns {
			conns[i] = drawConn(t, i)
		}
		run := func() ([]record.Window, Stats) {
			a := aggregatorOf(Config{ArmAt: testArm})
			a.caps.rowCap, a.caps.totalCap = 32, 20
			for _, c := range conns {
				a.Add(c)
			}
			return a.Flush(300)
		}
		rows, st := run()
		conns = rapid.Permutation(conns).Draw(t, "order")
		rows2, st2 := run()
		if d := cmp.Diff(rows, rows2); d != "" || st != st2 {
			t.Fatalf("another order gives other rows:\n%s%+v\n%+v", d, st, st2)
		}
	})
}

// slowRow computes a row from its records, the long way.
func slowRow(conns []*record.Conn, minBytes uint64) (w record.Window) {
	var elig, big []*record.Conn
	for _, c := range conns {
		w.Bytes += c.WinBytesAcked
		if c.WinBytesAcked >= minBytes && !slowWashed(c) {
			big = append(big, c)
			if c.Passive && c.RateSource != record.RateNone && !slowWashed(c) {
				elig = append(elig, c)
			}
		}
	}
	w.Conns, w.Eligible = uint32(len(conns)), uint32(len(elig))
	someBig := len(big) > 0
	if !someBig {
		big = conns
	}
	slowShares(&w, big, someBig)
	var rates, goodputs []float64
	var late []*record.Conn
	for _, c := range elig {
		if c.RateBytesPerS > 0 {
			rates = append(rates, c.RateBytesPerS)
		}
		if c.RateSource == record.RateMean && c.WinCountedBytesAcked >= 14_480 && c.WinCountedBusyUs > 0 {
			goodputs = append(goodputs, 1e6*float64(c.WinCountedBytesAcked)/float64(c.WinCountedBusyUs))
		}
		if c.WinLateSamples >= 3 && c.LateBytesPerS > 0 {
			late = append(late, c)
		}
		w.Episodes += uint64(c.WinEpisodes)
	}
	w.LateConns = uint32(len(late))
	w.LateBytesPerS = [2]float64(slowQuantiles(late, func(c *record.Conn) float64 { return c.LateBytesPerS }, []float64{0.5, 0.95}))
	w.RateBytesPerS = [5]float64(slowQuantiles(elig, func(c *record.Conn) float64 { return c.RateBytesPerS }, record.RateQuantiles[:]))
	w.LogRateMean, w.LogRateVar = slowLog(rates)
	w.LogGoodputMean, w.LogGoodputVar = slowLog(goodputs)
	for _, c := range elig {
		switch c.RateSource {
		case record.RateMean:
			w.EligibleSentBytes += c.WinCountedBytesSent
			w.EligibleRetransBytes += c.WinCountedBytesRetrans
		case record.RateLast:
			w.EligibleSentBytes += c.WinBytesSent
			w.EligibleRetransBytes += c.WinBytesRetrans
		}
	}
	return w
}

// slowWashed is of aggregatorOf's blocks, without a plan.
func slowWashed(c *record.Conn) bool {
	inPlan := c.Assigned == record.ArmTreatment || c.Assigned == record.ArmControl || c.Assigned == record.ArmAA
	if c.RateSource == record.RateLast {
		return inPlan && c.Window == 0
	}
	return c.CrossedNs > 0 && c.CrossedNs%1800e9 < 300e9
}

// slowLog is the mean of the logarithms and their variance.
func slowLog(values []float64) (mean, variance float64) {
	var sum, squares float64
	for _, v := range values {
		sum += math.Log(v)
		squares += math.Log(v) * math.Log(v)
	}
	if n := float64(len(values)); n > 0 {
		mean, variance = sum/n, squares/n-sum/n*sum/n
	}
	return mean, variance
}

func TestAgainstSlowRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := aggregatorOf(Config{})
		groups, has := map[string][]*record.Conn{}, map[string]bool{} // the second by window and network
		for i := range rapid.IntRange(0, 60).Draw(t, "conns") {
			c := drawConn(t, i)
			a.Add(c)
			if c.ClientFacing && c.Assigned != record.ArmUnknown && c.Prefix.Valid() {
				control := c.Assigned != record.ArmTreatment && c.DefaultCong && c.SwitchedNs == 0 && !c.Carryover
				k := fmt.Sprint(c.Window, c.Prefix, c.Assigned, c.Cong, c.Carryover, control, c.Capped)
				groups[k] = append(groups[k], c)
				if id := fmt.Sprint(c.Window, c.Prefix); c.Passive && c.WinBytesAcked >= 100000 && c.RateSource != record.RateNone && !slowWashed(c) {
					has[id] = true
				}
			}
		}
		rows, _ := a.Flush(300)
		for k := range groups {
			if id := strings.Join(strings.Fields(k)[:2], " "); !has[id] {
				delete(groups, k)
			}
		}
		if len(rows) != len(groups) {
			t.Fatalf("%d rows, want %d", len(rows), len(groups))
		}
		for _, r := range rows {
			want := slowRow(groups[fmt.Sprint(r.Start, r.Prefix, r.Arm, r.Cong, r.Carryover, r.Control, r.Capped)], 100000)
			got := record.Window{Conns: r.Conns, Eligible: r.Eligible, Bytes: r.Bytes, RateBytesPerS: r.RateBytesPerS, RetransShare: r.RetransShare, RwndShare: r.RwndShare, BusyShare: r.BusyShare,
				LogRateMean: r.LogRateMean, LogRateVar: r.LogRateVar, EligibleSentBytes: r.EligibleSentBytes, EligibleRetransBytes: r.EligibleRetransBytes,
				LogGoodputMean: r.LogGoodputMean, LogGoodputVar: r.LogGoodputVar, Episodes: r.Episodes, LateConns: r.LateConns, LateBytesPerS: r.LateBytesPerS}
			for _, v := range [][2]*float64{{&got.LogRateMean, &want.LogRateMean}, {&got.LogRateVar, &want.LogRateVar},
				{&got.LogGoodputMean, &want.LogGoodputMean}, {&got.LogGoodputVar, &want.LogGoodputVar},
				{&got.LateBytesPerS[0], &want.LateBytesPerS[0]}, {&got.LateBytesPerS[1], &want.LateBytesPerS[1]}} {
				if math.Abs(*v[0]-*v[1]) < 1e-6 { // values are kept as float32
					*v[0] = *v[1]
				}
			}
			for _, v := range [][2]*float64{{&got.RetransShare, &want.RetransShare}, {&got.RwndShare, &want.RwndShare}, {&got.BusyShare, &want.BusyShare}} {
				if math.Abs(*v[0]-*v[1]) < 1e-9 {
					*v[0] = *v[1]
				}
			}
			for i := range got.RateBytesPerS {
				if math.Abs(got.RateBytesPerS[i]-want.RateBytesPerS[i]) < 1e-6 {
					got.RateBytesPerS[i] = want.RateBytesPerS[i]
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("row %v (slow -, got +):\n%s", r, d)
			}
		}
	})
}

// A crowded row's sample is within 4 standard deviations of rank of the truth, and
// the row keeps at most its cap.
func TestCrowdedRow(t *testing.T) {
	a := aggregatorOf(Config{})
	const n = 100000
	for i := range n {
		a.Add(&record.Conn{Cookie: record.Cookie(i), Prefix: 256 | 24, Passive: true, ClientFacing: true,
			WinBytesAcked: 100000, RateBytesPerS: float64(i + 1), RateSource: record.RateMean})
	}
	rows, st := a.Flush(0)
	if len(rows) != 1 || rows[0].Eligible != n || st.NotSampled != n-rowCap {
		t.Fatalf("rows %+v, stats %+v", rows, st)
	}
	for i, q := range record.RateQuantiles {
		rank := rows[0].RateBytesPerS[i] / n
		if sd := math.Sqrt(q * (1 - q) / rowCap); math.Abs(rank-q) > 4*sd {
			t.Errorf("p%g of the sample has rank %g of the whole: more than 4 x %g off", 100*q, rank, sd)
		}
	}
}

// A flood of one-response prefixes neither grows the table nor pushes out the heavy ones.
func TestFlood(t *testing.T) {
	a := aggregatorOf(Config{MaxPrefixes: 1000})
	add := func(p int, bytes uint64) {
		a.Add(&record.Conn{Cookie: record.Cookie(p), Prefix: record.Prefix(p<<8 | 24), Passive: true, ClientFacing: true, WinBytesAcked: bytes, RateBytesPerS: 1, RateSource: record.RateLast})
	}
	for p := range 500 {
		add(1<<20+p, 1e6)
	}
	for p := range 50000 {
		add(p, 10)
		if a.prefixes > 1000 {
			t.Fatalf("%d prefixes tracked", a.prefixes)
		}
	}
	rows, st := a.Flush(0)
	heavy := 0
	for _, r := range rows {
		if r.Bytes == 1e6 {
			heavy++
		}
	}
	if heavy != 500 || len(rows) != 500 || st.EvictedPrefixes+st.IneligiblePrefixes+uint64(len(rows)) != 50500 || st.EvictedBytes != 10*st.EvictedPrefixes {
		t.Fatalf("heavy %d of 500, stats %+v", heavy, st)
	}
	if a.prefixes != 0 || len(a.panes) != 0 {
		t.Fatalf("after flush %d prefixes and %d windows", a.prefixes, len(a.panes))
	}
}

// crowd adds n eligible connections of rates 1..n to a window, spread over 8 prefixes.
func crowd(a *Aggregator, window int64, n int) {
	for i := range n {
		a.Add(&record.Conn{Cookie: record.Cookie(i), Window: window, Prefix: record.Prefix(i%8<<8 | 24), Passive: true, ClientFacing: true,
			WinBytesAcked: 100000, RateBytesPerS: float64(i + 1), RateSource: record.RateMean})
	}
}

// A storm thins its own window. The next ones, one of which is always open, keep all.
func TestAStormDoesNotThinLaterWindows(t *testing.T) {
	a := aggregatorOf(Config{})
	a.caps.totalCap = 1000
	crowd(a, 0, 20_000)
	for w := int64(300); w <= 3000; w += 300 {
		crowd(a, w, 800) // closes of the next window come before this one is flushed
		_, st := a.Flush(w - 300)
		if w > 300 && st.NotSampled != 0 {
			t.Fatalf("window %d: %d of 800 values left out after a storm in window 0", w-300, st.NotSampled)
		}
	}
}

// What a window says does not depend on records of another one.
func TestWindowsAreSampledAlone(t *testing.T) {
	run := func(beside int) []record.Window {
		a := aggregatorOf(Config{})
		a.caps.totalCap = 1000
		crowd(a, 0, 900)
		crowd(a, 300, beside)
		rows, _ := a.Flush(0)
		return rows
	}
	if d := cmp.Diff(run(0), run(20_000)); d != "" {
		t.Fatalf("a crowd in the next window changes this one:\n%s", d)
	}
}

func TestStatsCountAllRecords(t *testing.T) {
	a := aggregatorOf(Config{})
	a.Add(&record.Conn{WinBytesAcked: 5, WinBytesSent: 7, WinBytesRetrans: 2, WinBytesReceived: 1})
	a.Add(&record.Conn{ClientFacing: true, Passive: true, WinBytesAcked: 10})
	_, st := a.Flush(0)
	want := Stats{Records: 2, NotClientFacing: 1, NoPrefix: 1}
	if st != want {
		t.Fatalf("got %+v, want %+v", st, want)
	}
	if _, st = a.Flush(0); st != (Stats{}) {
		t.Fatalf("flush did not reset: %+v", st)
	}
}

func BenchmarkAdd(b *testing.B) {
	b.ReportAllocs()
	a := aggregatorOf(Config{})
	c := &record.Conn{Passive: true, ClientFacing: true, WinBytesAcked: 200000, RateBytesPerS: 1, RateSource: record.RateMean, Cong: "cubic"}
	for i := range b.N {
		c.Cookie, c.Prefix = record.Cookie(i), record.Prefix(i%20000<<8|24)
		a.Add(c)
		if i%100000 == 99999 {
			c.Window += 300
			a.Flush(c.Window - 300)
		}
	}
}
