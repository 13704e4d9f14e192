package city

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

const midnight = 1_795_132_800 // 2026-11-20T00:00:00Z

func untreated(int) Served { return Served{} }

// walk returns the rows of some windows.
func walk(c *City, windows int64, served func(place int) Served) (all [][]record.Window) {
	for w := range windows {
		all = append(all, c.Window(midnight+300*w, served, nil))
	}
	return all
}

// TestPlaces holds the whole city to the figures that it is made of.
func TestPlaces(t *testing.T) {
	share := 0.0
	for _, k := range Kinds {
		share += k.Share
	}
	if math.Abs(share-1) > 1e-9 {
		t.Errorf("shares of kinds sum to %v", share)
	}
	for seed := uint64(1); seed <= 3; seed++ {
		c := New(seed, 2000, 300, 0)
		helped, fifth := 0, 0
		var conns []float64
		var mean stat.Mean
		of := map[string][]float64{}
		seen := map[record.Prefix]bool{}
		for i := range c.Places {
			p := &c.Places[i]
			seen[p.Prefix] = true
			conns = append(conns, p.Conns)
			mean.Add(p.Conns, 1)
			of[p.Kind.Name] = append(of[p.Kind.Name], p.BytesPerS*8e-6)
			helped += one(p.Helped())
			fifth += one(p.InFifth)
			if p.Factor < p.Kind.Low || p.Factor > p.Kind.High || p.Helped() && p.Harmed() {
				t.Errorf("seed %d: %+v", seed, p)
			}
		}
		if len(seen) != 2000 || fifth != 400 || helped < 117 || helped > 132 {
			t.Errorf("seed %d: %d prefixes, %d in the fifth, %d helped (117 to 132)", seed, len(seen), fifth, helped)
		}
		if m := stat.Median(conns); math.Abs(m-3) > 0.1 || math.Abs(mean.Value()-7.4) > 0.15 {
			t.Errorf("seed %d: connections a window: median %.2f (3), mean %.2f (7.4)", seed, m, mean.Value())
		}
		for _, k := range Kinds {
			list := of[k.Name]
			if m := stat.Median(list); math.Abs(float64(len(list))-2000*k.Share) > 1 || math.Abs(m/k.MedianMbit-1) > 0.05 {
				t.Errorf("seed %d, %s: %d prefixes, median %.2f Mbit/s", seed, k.Name, len(list), m)
			}
		}
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// TestDay: load over a day, how often a prefix has five connections, and rates.
func TestDay(t *testing.T) {
	c := New(1, 500, 300, 0)
	var level []float64 // per window, of all connections
	sum, n := 0.0, 0.0
	c.Seen = func(_ int, x Conn) { sum += x.Now; n++ }
	var load []float64
	five := 0
	for w := range int64(288) {
		sum, n = 0, 0
		for _, r := range c.Window(midnight+300*w, untreated, nil) {
			five += one(r.Eligible >= 5)
		}
		load, level = append(load, n), append(level, sum/n)
	}
	if v := float64(five) / (288 * 500); math.Abs(v-0.37) > 0.02 {
		t.Errorf("%.3f of the windows have five connections, wanted 0.37", v)
	}
	busy, calm := stat.Quantile(slices.Clone(load[60:84]), 0.5), stat.Quantile(slices.Clone(load[204:228]), 0.5)
	if r := busy / calm; math.Abs(r-4) > 0.3 { // 1.6 / 0.4
		t.Errorf("busiest hours have %.2f x the connections of the calmest, wanted 4", r)
	}
	if level[72] > level[216] {
		t.Errorf("the busy hour is not slower: ln rate %.3f, %.3f in the calm one", level[72], level[216])
	}
}

// TestDrift: standard deviation and correlation of the level over time.
func TestDrift(t *testing.T) {
	c := New(3, 500, 300, 0)
	c.Window(midnight, untreated, nil)
	before := slices.Clone(c.drift)
	for w := range int64(12) { // one hour
		c.Window(midnight+300*(w+1), untreated, nil)
	}
	var squares, products stat.Mean
	for i, x := range c.drift {
		sd := c.Places[i].Kind.Drift
		squares.Add(x*x/sd/sd, 1)
		products.Add(x*before[i]/sd/sd, 1)
	}
	// Of 500: +-0.06 and +-0.05 (1 sigma).
	if v, r := squares.Value(), products.Value(); math.Abs(v-1) > 0.2 || math.Abs(r-math.Exp(-1)) > 0.15 {
		t.Errorf("variance %.2f of the wanted, correlation after an hour %.2f, wanted 0.37", v, r)
	}
}

// TestRows: a row is what the connections that were seen make of it, and treatment moves
// rates by the factor and nothing else.
func TestRows(t *testing.T) {
	plain, moved := New(5, 100, 300, 0), New(5, 100, 300, 0)
	seen := map[int][]float64{}
	plain.Seen = func(place int, x Conn) { seen[place] = append(seen[place], x.Now) }
	a := plain.Window(midnight, untreated, nil)
	b := moved.Window(midnight, func(i int) Served { return Served{Arm: record.ArmTreatment} }, nil)
	if len(a) != len(seen) || len(a) != len(b) {
		t.Fatalf("%d and %d rows of %d prefixes", len(a), len(b), len(seen))
	}
	at := 0
	for i := range plain.Places {
		if len(seen[i]) == 0 {
			continue
		}
		p, x, y := &plain.Places[i], a[at], b[at]
		at++
		if want := rowOf(p, seen[i]); !alike(x, want) {
			t.Errorf("%s", cmp.Diff(want, x))
		}
		want := x
		want.Arm, want.Cong, want.Control = record.ArmTreatment, "bbr", false
		for q := range want.RateBytesPerS {
			want.RateBytesPerS[q] *= p.Factor
		}
		want.LogRateMean += math.Log(p.Factor)
		if !alike(y, want) {
			t.Errorf("treated: %s", cmp.Diff(want, y))
		}
	}
}

// rowOf makes a row the long way.
func rowOf(p *Place, lnRates []float64) record.Window {
	n := uint32(len(lnRates))
	w := record.Window{Start: midnight, Prefix: p.Prefix, Cong: "cubic", Control: true, Conns: 2 * n, Eligible: n, RateMeans: n,
		Bytes: 2_000_000 * uint64(n), EligibleSentBytes: 2_000_000 * uint64(n), EligibleRetransBytes: uint64(2_000_000 * float64(n) * p.Kind.Retrans),
		MinRTTUs: p.Kind.MinRTTUs, SRTTUs: (1 + p.Kind.Queue) * p.Kind.MinRTTUs, RetransShare: p.Kind.Retrans, RwndShare: 0.05, BusyShare: 0.9}
	var rates []float64
	for _, v := range lnRates {
		rates = append(rates, math.Exp(v))
		w.LogRateMean += v / float64(n)
	}
	for _, v := range lnRates {
		w.LogRateVar += math.Pow(v-w.LogRateMean, 2) / float64(n)
	}
	slices.Sort(rates)
	for i, q := range record.RateQuantiles {
		w.RateBytesPerS[i] = stat.Sorted(rates, q)
	}
	return w
}

func alike(a, b record.Window) bool {
	near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*(1+math.Abs(x)) })
	return cmp.Equal(a, b, near)
}

// TestTreatmentMovesNobodyElse: two cities of one seed differ in the rows of who is
// treated, and nowhere else, ever after.
func TestTreatmentMovesNobodyElse(t *testing.T) {
	a := walk(New(9, 100, 300, 0), 30, untreated)
	b := walk(New(9, 100, 300, 0), 30, func(i int) Served {
		if i%3 == 0 {
			return Served{Arm: record.ArmTreatment}
		}
		return Served{}
	})
	treated := 0
	for w := range a {
		if len(a[w]) != len(b[w]) {
			t.Fatalf("window %d: %d and %d rows", w, len(a[w]), len(b[w]))
		}
		for i := range a[w] {
			if b[w][i].Arm == record.ArmTreatment {
				treated++
			} else if a[w][i] != b[w][i] {
				t.Errorf("window %d: %s", w, cmp.Diff(a[w][i], b[w][i]))
			}
		}
	}
	if treated == 0 {
		t.Error("nobody was treated")
	}
}

func TestSeedsAreApart(t *testing.T) {
	a, b := walk(New(1, 100, 300, 0), 1, untreated)[0], walk(New(1, 100, 300, 0), 1, untreated)[0]
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("one seed, two cities: %s", d)
	}
	if cmp.Equal(a, walk(New(2, 100, 300, 0), 1, untreated)[0]) {
		t.Error("two seeds, one city")
	}
}

func BenchmarkWindow(b *testing.B) {
	c := New(1, 2000, 300, 0)
	var rows []record.Window
	at := int64(midnight)
	for b.Loop() {
		rows = c.Window(at, untreated, rows[:0])
		at += 300
	}
}
