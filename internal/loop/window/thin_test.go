package window

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/tcp/record"
)

// population is n connections of many clients of one network, rates lognormal about e^middle bytes/s.
func population(rng *rand.Rand, n int, middle float64) (all []record.Conn) {
	for i := range n {
		addr := netip.AddrFrom4([4]byte{203, 0, 113, byte(rng.IntN(250))})
		p, _ := record.PrefixOf(addr)
		acked := uint64(100_000 + rng.IntN(1_000_000))
		c := record.Conn{
			Netns: record.NetnsID(middle), Cookie: record.Cookie(i + 1), Window: 300, Prefix: p, Remote: netip.AddrPortFrom(addr, 0),
			Passive: true, ClientFacing: true, Cong: "cubic", DefaultCong: true, RateSource: record.RateMean,
			RateBytesPerS: math.Exp(middle + rng.NormFloat64()), WinBytesAcked: acked, WinBytesSent: acked + 5000,
			WinBytesRetrans: uint64(rng.IntN(5000)), WinBusyUs: 1e6, WinElapsedUs: 2e6, WinRwndLimitedUs: uint64(rng.IntN(1e6)),
			WinRateSamples: 10, WinLimitedSamples: uint32(rng.IntN(10)), WinEpisodes: uint32(rng.IntN(3)),
			WinLateSamples: 4, LateBytesPerS: math.Exp(middle + rng.NormFloat64()),
			WinCountedBytesAcked: acked, WinCountedBytesSent: acked + 5000, WinCountedBytesRetrans: uint64(rng.IntN(5000)),
			WinCountedBusyUs: uint64(500_000 + rng.IntN(1_000_000)),
		}
		c.Info.MinRttUs, c.Info.RttUs = uint32(10_000+rng.IntN(10_000)), uint32(20_000+rng.IntN(10_000))
		all = append(all, c)
	}
	return all
}

func rowOf(t *testing.T, all []record.Conn) record.Window {
	t.Helper()
	a := aggregatorOf(Config{})
	for i := range all {
		a.Add(&all[i])
	}
	rows, _ := a.Flush(300)
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	return rows[0]
}

// thinned keeps each record with probability p.
func thinned(rng *rand.Rand, all []record.Conn, p float64) (kept []record.Conn) {
	for _, c := range all {
		if rng.Float64() < p {
			c.Weight = 1 / p
			kept = append(kept, c)
		}
	}
	return kept
}

// TestEqualWeights: where all records stand for as many, only sums differ from those of the records alone.
func TestEqualWeights(t *testing.T) {
	all := population(rand.New(rand.NewPCG(1, 1)), 500, 13)
	want := rowOf(t, all)
	for i := range all {
		all[i].Weight = 16
	}
	want.Conns, want.Bytes, want.Episodes = 16*want.Conns, 16*want.Bytes, 16*want.Episodes
	want.EligibleSentBytes, want.EligibleRetransBytes = 16*want.EligibleSentBytes, 16*want.EligibleRetransBytes
	if d := cmp.Diff(want, rowOf(t, all)); d != "" {
		t.Error(d)
	}
}

// TestWeightIsRepetition: a record of weight k counts as k equal ones do.
func TestWeightIsRepetition(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	weighed := population(rng, 300, 13)
	var repeated []record.Conn
	for i := range weighed {
		k := 1 << rng.IntN(4)
		for range k {
			repeated = append(repeated, weighed[i])
		}
		weighed[i].Weight = float64(k)
	}
	got, want := rowOf(t, weighed), rowOf(t, repeated)
	near := func(name string, a, b, tolerance float64) {
		if math.Abs(a-b) > tolerance*math.Abs(b) {
			t.Errorf("%s: %v, repeated %v", name, a, b)
		}
	}
	if got.Conns != want.Conns || got.Bytes != want.Bytes || got.Episodes != want.Episodes ||
		got.EligibleSentBytes != want.EligibleSentBytes || got.EligibleRetransBytes != want.EligibleRetransBytes ||
		got.RetransShare != want.RetransShare || got.RwndShare != want.RwndShare || got.BusyShare != want.BusyShare || got.AppLimitedShare != want.AppLimitedShare {
		t.Errorf("sums:\n%+v\n%+v", got, want)
	}
	near("mean", got.LogRateMean, want.LogRateMean, 1e-12)
	near("variance", got.LogRateVar, want.LogRateVar, 1e-9)
	near("goodput", got.LogGoodputMean, want.LogGoodputMean, 1e-12)
	for i := range got.RateBytesPerS { // type 7 knows that they are fewer
		near("quantile", got.RateBytesPerS[i], want.RateBytesPerS[i], 0.05)
	}
	near("late", got.LateBytesPerS[0], want.LateBytesPerS[0], 0.05)
	near("rtt", got.MinRTTUs, want.MinRTTUs, 0.02)
	if got.Eligible >= 300 || got.Eligible < 100 || got.RateMeans > got.Eligible || got.LateConns > got.Eligible {
		t.Errorf("worth %d, %d, %d of 300", got.Eligible, got.RateMeans, got.LateConns)
	}
}

// TestOneClientOfThinnedRecords: a client's share is of what its records stand for. This one's are 30 % of the records,
// 77 % of the connections, and ten times as fast.
func TestOneClientOfThinnedRecords(t *testing.T) {
	weighed := population(rand.New(rand.NewPCG(6, 6)), 1000, 13)
	var repeated []record.Conn
	for i := range weighed {
		c := &weighed[i]
		if i < 300 {
			c.Remote = netip.MustParseAddrPort("203.0.113.251:0")
			c.RateBytesPerS *= 10
			c.Weight = 8
		}
		for range c.Times() {
			repeated = append(repeated, *c)
			repeated[len(repeated)-1].Weight = 0
		}
	}
	got, want := rowOf(t, weighed), rowOf(t, repeated)
	for i := range got.RateBytesPerS {
		if ratio := got.RateBytesPerS[i] / want.RateBytesPerS[i]; math.Abs(ratio-1) > 0.05 {
			t.Errorf("quantile %v: %v of that of repeated records", record.RateQuantiles[i], ratio)
		}
	}
	if got.RwndShare != want.RwndShare || got.RetransShare != want.RetransShare {
		t.Errorf("shares %v and %v, repeated %v and %v", got.RwndShare, got.RetransShare, want.RwndShare, want.RetransShare)
	}
}

// tally is an estimate over many samples.
type tally struct{ sum, squares, n float64 }

func (a *tally) add(v float64) { a.sum, a.squares, a.n = a.sum+v, a.squares+v*v, a.n+1 }

// bias returns how far the mean is from the truth, in its standard errors.
func (a *tally) bias(truth float64) float64 {
	mean := a.sum / a.n
	return (mean - truth) / math.Sqrt((a.squares/a.n-mean*mean)/a.n)
}

const samplesDrawn = 400

// TestThinningIsUnbiased: over many samples, each figure's mean is that of all records, and the interval by the number
// of Eligible covers it as often as it says.
func TestThinningIsUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	all := population(rng, 3000, 13)
	truth := rowOf(t, all)
	for _, p := range []float64{1. / 2, 1. / 4, 1. / 8, 1. / 16} {
		var conns, bytes, sent, means, retrans tally
		var covers, meanCovers float64
		for range samplesDrawn {
			w := rowOf(t, thinned(rng, all, p))
			conns.add(float64(w.Conns))
			bytes.add(float64(w.Bytes))
			sent.add(float64(w.EligibleSentBytes))
			means.add(w.LogRateMean)
			retrans.add(w.RetransShare)
			for i, q := range record.RateQuantiles {
				half := 1.96 * math.Sqrt(q*(1-q)*(1-p)/float64(w.Eligible))
				if rank := rankOf(all, w.RateBytesPerS[i]); math.Abs(rank-q) <= half+1/float64(w.Eligible) {
					covers += 1. / float64(len(record.RateQuantiles)) / samplesDrawn
				}
			}
			if math.Abs(w.LogRateMean-truth.LogRateMean) <= 1.96*math.Sqrt(w.LogRateVar*(1-p)/float64(w.Eligible)) {
				meanCovers += 1. / samplesDrawn
			}
		}
		for name, z := range map[string]float64{"conns": conns.bias(float64(truth.Conns)), "bytes": bytes.bias(float64(truth.Bytes)),
			"sent": sent.bias(float64(truth.EligibleSentBytes)), "mean": means.bias(truth.LogRateMean), "retrans": retrans.bias(truth.RetransShare)} {
			if math.Abs(z) > 3.5 {
				t.Errorf("p = %v: %s is off by %.1f standard errors", p, name, z)
			}
		}
		if covers < 0.93 || meanCovers < 0.92 || meanCovers > 0.98 {
			t.Errorf("p = %v: intervals of 95 %% hold the quantiles in %.3f, the mean in %.3f", p, covers, meanCovers)
		}
	}
}

func rankOf(all []record.Conn, rate float64) (share float64) {
	for i := range all {
		if all[i].RateBytesPerS <= rate {
			share += 1 / float64(len(all))
		}
	}
	return share
}

// TestMixedWeights: two hosts of one PoP, one of them thinned and eight times as slow. Without weights the row would show the other.
func TestMixedWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	fast, slow := population(rng, 1000, 14), population(rng, 1000, 12)
	truth := rowOf(t, append(append([]record.Conn{}, fast...), slow...))
	var means, median, late, naive tally
	covers := 0.0
	for range samplesDrawn {
		kept := append(append([]record.Conn{}, fast...), thinned(rng, slow, 1./16)...)
		w := rowOf(t, kept)
		means.add(w.LogRateMean)
		median.add(w.RateBytesPerS[record.Q50])
		late.add(w.LateBytesPerS[0])
		if math.Abs(w.LogRateMean-truth.LogRateMean) <= 1.96*math.Sqrt(w.LogRateVar/float64(w.Eligible)) {
			covers += 1. / samplesDrawn
		}
		if w.Eligible > 330 || w.Eligible < 150 { // (1000 + 1000)^2 / (1000 + 62 x 16^2) = 237
			t.Fatalf("worth %d", w.Eligible)
		}
		for i := range kept {
			kept[i].Weight = 0
		}
		naive.add(rowOf(t, kept).LogRateMean)
	}
	// A mean's weights are a ratio estimate: its bias is of order 1/n, far below one sample's noise.
	if off := means.sum/means.n - truth.LogRateMean; math.Abs(off) > 0.01 {
		t.Errorf("the mean is off by %v", off)
	}
	for name, ratio := range map[string]float64{"median": median.sum / median.n / truth.RateBytesPerS[record.Q50], "late": late.sum / late.n / truth.LateBytesPerS[0]} {
		if math.Abs(ratio-1) > 0.03 {
			t.Errorf("%s: %v of the truth", name, ratio)
		}
	}
	if off := naive.sum/naive.n - truth.LogRateMean; off < 0.5 {
		t.Errorf("without weights the mean is off by only %v: this test cannot fail", off)
	}
	if covers < 0.95 {
		t.Errorf("an interval of 95 %% holds the mean in %.3f", covers)
	}
}
