package policy

import (
	"net/netip"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/congctl/congctl/internal/tcp/record"
)

// crowd returns n prefixes of 2001:db8::/32 in one window, n/5 of them slow.
func crowd(n int, start int64) []record.Window {
	rows := make([]record.Window, n)
	for i := range rows {
		p, _ := record.PrefixOf(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(i >> 16), byte(i >> 8), byte(i)}))
		rate := 400_000 + float64(i*7919%n)*10
		if i%5 == 0 {
			rate /= 10
		}
		rows[i] = quiet(start, p, 6, rate)
	}
	return rows
}

func shift(rows []record.Window, start int64) Input {
	for i := range rows {
		rows[i].Start = start
	}
	return Input{Start: start, RoundStart: start + 300, Rows: rows}
}

// TestTableIsBounded: when a flood of prefixes comes, those with the least bytes
// go; selected ones and the busy stay, and the event says how many went.
func TestTableIsBounded(t *testing.T) {
	r := cityRules()
	r.MaxTracked, r.MaxSelected, r.MaxNewPerRound = 50, 10, 10
	e := byLevel(r)
	regulars := crowd(40, 0)
	var d Decision
	for w := range 6 {
		d = e.Round(shift(regulars, int64(noon+300*w)))
	}
	if d.Selected == 0 {
		t.Fatal("nobody selected")
	}
	chosen := d.Selection
	start := int64(noon + 300*6)
	in := shift(crowd(40, start), start)
	for i := range 500 {
		p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{198, 18 + byte(i>>8), byte(i), 0}))
		w := quiet(start, p, 0, 0)
		w.Conns, w.Bytes = 1, uint64(1000+i)
		in.Rows = append(in.Rows, w)
	}
	// A newcomer with more bytes than a regular one: it stays and nothing else matters.
	big := quiet(start, letter(t, "203.0.113.0/24"), 5, 1e6)
	big.Bytes = 1 << 40
	in.Rows = append(in.Rows, big)
	d = e.Round(in)
	if d.Tracked != 50 || len(e.Rows()) != 50 {
		t.Errorf("%d tracked, want 50", d.Tracked)
	}
	if !reflect.DeepEqual(d.Selection, chosen) {
		t.Errorf("selection changed: %v", d.Selection)
	}
	for _, p := range []record.Prefix{big.Prefix, regulars[39].Prefix, letter(t, "198.19.243.0/24")} {
		if _, ok := e.Explain(p); !ok {
			t.Errorf("%s is gone", p)
		}
	}
	if i := slices.IndexFunc(d.Events, func(ev Event) bool { return ev.Kind == EventEvicted }); i < 0 || !strings.HasPrefix(d.Events[i].Reason, "491 prefixes") {
		t.Errorf("events %+v, want 491 prefixes evicted", d.Events)
	}
}

// TestRefusalsAreToldInTurns: a whole PoP refused at once is told 500 a round, the
// slowest first, and each prefix once.
func TestRefusalsAreToldInTurns(t *testing.T) {
	e := byLevel(cityRules())
	rows := crowd(4000, 0)
	for i := range rows {
		rows[i].RwndShare = 0.9
	}
	told := map[record.Prefix]int{}
	for w := range int64(8) {
		d := e.Round(shift(rows, noon+300*w))
		want := 0
		if w >= 3 { // min_known is 4
			want = []int{500, 300, 0, 0, 0}[w-3]
		}
		if len(d.Events) != want || d.Selected != 0 || w >= 3 && d.Refused != 800 {
			t.Fatalf("round %d: %d events, want %d; refused %d, selected %d", w, len(d.Events), want, d.Refused, d.Selected)
		}
		for i, ev := range d.Events {
			told[ev.Prefix]++
			if i > 0 && ev.Evidence.PerfBytesPerS < d.Events[i-1].Evidence.PerfBytesPerS {
				t.Fatal("not the slowest first")
			}
		}
	}
	for p, n := range told {
		if n != 1 {
			t.Errorf("%s told %d times", p, n)
		}
	}
}

// TestMemoryGrowsWithPrefixesOnly: more rounds leave the heap as it is, and
// silence empties it.
func TestMemoryGrowsWithPrefixesOnly(t *testing.T) {
	if unsafe.Sizeof(entry{}) != 16 || unsafe.Sizeof(slot{}) > 56 || unsafe.Sizeof(span{}) > 44 {
		t.Errorf("entry %d bytes, slot %d, span %d", unsafe.Sizeof(entry{}), unsafe.Sizeof(slot{}), unsafe.Sizeof(span{}))
	}
	r := DefaultRules()
	r.MaxAgeSeconds = 100 * 300 // the list of rounds is full after 100
	e := byLevel(r)
	rows := crowd(1000, 0)
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	w := int64(0)
	rounds := func(n int) float64 {
		for range n {
			e.Round(shift(rows, noon+300*w))
			w++
		}
		return heap()
	}
	first := rounds(120)
	if second := rounds(120); second > first*1.02+20_000 {
		t.Errorf("heap %.0f after 120 rounds, %.0f after 240", first, second)
	}
	e.Round(Input{Start: noon + 300*(w+400), RoundStart: noon + 300*(w+401)})
	if n := len(e.tracks); n > r.MaxSelected {
		t.Errorf("%d prefixes remembered after a long silence", n)
	}
	runtime.KeepAlive(e)
}

// shortened is a tenth of n with -short, where a benchmark is only to run at all.
func shortened(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// BenchmarkRound is one round over 100,000 prefixes with 36 known windows each. By benefit all of them lose
// packets one by one and have a network, so that each is judged, with its name and without.
func BenchmarkRound(b *testing.B) {
	b.Run("level", func(b *testing.B) { benchmarkRound(b, byLevel(DefaultRules()), func(*record.Window) {}) })
	b.Run("benefit", func(b *testing.B) {
		r := DefaultRules()
		r.Select = SelectBenefit
		e := New(r, firstBlock{})
		e.Name(operators(3))
		benchmarkRound(b, e, func(w *record.Window) {
			w.MinRTTUs, w.SRTTUs, w.EligibleRetransBytes, w.Episodes = 60_000, 60_000, w.EligibleSentBytes/50, 20
			w.LogGoodputMean, w.LogGoodputVar = w.LogRateMean, w.LogRateVar
		})
	})
}

func benchmarkRound(b *testing.B, e *Engine, change func(*record.Window)) {
	n := shortened(100_000)
	var before, after runtime.MemStats
	rows := crowd(n, 0)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range rows {
		change(&rows[i])
	}
	w := int64(0)
	step := func() Decision {
		w++
		return e.Round(shift(rows, noon+300*w))
	}
	for range 36 {
		step()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportAllocs()
	for b.Loop() {
		if d := step(); d.Known != n || d.Selected == 0 {
			b.Fatalf("known %d selected %d", d.Known, d.Selected)
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "heap-B/prefix")
}

// BenchmarkRows is the whole table of 100,000 prefixes.
func BenchmarkRows(b *testing.B) {
	e := byLevel(DefaultRules())
	rows := crowd(shortened(100_000), 0)
	for w := range int64(12) {
		e.Round(shift(rows, noon+300*w))
	}
	for b.Loop() {
		if len(e.Rows()) != len(rows) {
			b.Fatal("rows are missing")
		}
	}
}

// BenchmarkTrials is a round that ends a block over 2,000 prefixes, 500 of them on
// trial or promoted with most of a day of pairs.
func BenchmarkTrials(b *testing.B) {
	r := DefaultRules()
	r.MaxNewPerRound = 500
	e := New(r, firstBlock{})
	rows := crowd(2000, 0)
	for i := range rows {
		if i%4 == 0 { // losses one by one
			rows[i].MinRTTUs, rows[i].SRTTUs, rows[i].EligibleRetransBytes = 60_000, 62_000, rows[i].EligibleSentBytes/50
		}
	}
	var inPlan map[record.Prefix]Selected
	w := int64(0)
	step := func() Decision {
		in := shift(rows, noon+300*w)
		in.Rows = make([]record.Window, len(rows))
		for i := range rows {
			in.Rows[i] = rows[i]
			if s, ok := inPlan[rows[i].Prefix]; ok {
				in.Rows[i] = planned(rows[i], []Selected{s}, r.Trial, firstBlock{}, treated{effect: 3})
			}
		}
		w++
		d := e.Round(in)
		inPlan = map[record.Prefix]Selected{}
		for _, s := range d.Selection {
			inPlan[s.Prefix] = s
		}
		return d
	}
	for range shortened(12 * 20) {
		step()
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for (w+1)%6 != 0 {
			step()
		}
		b.StartTimer()
		if d := step(); d.Selected < 300 {
			b.Fatalf("%d selected", d.Selected)
		}
	}
}
