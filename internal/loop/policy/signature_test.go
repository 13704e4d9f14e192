package policy

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// TestSignatureOfLabPaths: paths of the lab, measured on a real kernel under CUBIC, with the
// ratio and the class that the study computed from the connections themselves, and what a
// switch to BBR gained there.
func TestSignatureOfLabPaths(t *testing.T) {
	for _, c := range []struct {
		path                            string
		mbit, rttMs, queue, again, want float64
		class                           Class
		gain                            float64
	}{
		{"12 Mbit/s, 50 ms, 1.5 %, 50 packets", 2.40, 50, 0.09, 1.7, 1.22, ClassSingle, 2.56},
		{"40 Mbit/s, 120 ms, 3 %, 99 packets", 0.64, 120, 0.07, 3.3, 1.05, ClassSingle, 2.88},
		{"40 Mbit/s, 15 ms, 1.5 %, 50 packets", 10.36, 15, 0.07, 1.5, 1.45, ClassSingle, 2.65},
		{"40 Mbit/s, 120 ms, 0.5 %, 198 packets", 2.79, 120, 0.03, 0.5, 1.62, ClassSingle, 3.31},
		{"40 Mbit/s, 50 ms, 1.5 %, 165 packets", 5.56, 50, 0.07, 1.6, 2.67, ClassMixed, 1.81},
		{"12 Mbit/s, 15 ms, 4 packets", 11.14, 15, 0.14, 10.2, 4.31, ClassMixed, 1.00},
		{"40 Mbit/s, 120 ms, 8 packets", 8.39, 120, 0.00, 15.1, 27.65, ClassBursts, 1.00},
		{"12 Mbit/s, 50 ms, 12 packets", 7.87, 50, 0.04, 13.0, 10.45, ClassBursts, 1.00},
		{"12 Mbit/s, 50 ms, 50 packets", 7.77, 50, 0.40, 5.1, 8.67, ClassQueue, 1.00},
		{"40 Mbit/s, 120 ms, 0.1 %, 396 packets", 9.13, 120, 0.01, 0.2, 3.37, ClassClean, 1.00},
	} {
		p := Signature{Conns: signatureConns, RateBytesPerS: c.mbit * 1e6 / 8, MinRTTUs: c.rttMs * 1000,
			SRTTUs: c.rttMs * 1000 * (1 + c.queue), RetransShare: c.again / 100, RateVar: 1} // the study has no variances
		lambda := burst(p.RateBytesPerS, p.SRTTUs, p.RetransShare)
		// The study's figures are rounded: 0.2 % can be 0.15 %.
		if s := signature(p); s == nil || s.Class != c.class || math.Abs(math.Log(lambda/c.want)) > 0.15 {
			t.Errorf("%s (a switch gained x %.2f): %+v, lambda %.2f; want %s, %.2f", c.path, c.gain, s, lambda, c.class, c.want)
		}
	}
}

// TestSignatureNeedsEvidence: too few connections or no round-trip times tell nothing, and no
// loss at all is no division by zero.
func TestSignatureNeedsEvidence(t *testing.T) {
	whole := Signature{Conns: signatureConns, RateBytesPerS: 1e6, MinRTTUs: 50_000, SRTTUs: 55_000}
	if s := signature(whole); s == nil || s.Class != ClassClean || s.Single != 0 || s.InFlight != 38 || s.Queue != 0.1 {
		t.Errorf("without losses: %+v", s)
	}
	few, noRTT, noSRTT := whole, whole, whole
	few.Conns--
	noRTT.MinRTTUs, noSRTT.SRTTUs = 0, 0
	for _, p := range []Signature{few, noRTT, noSRTT, {}} {
		if s := signature(p); s != nil {
			t.Errorf("%+v: %+v", p, s)
		}
	}
}

// TestSignatureLimits: which side of a limit the limit is on.
func TestSignatureLimits(t *testing.T) {
	for _, c := range []struct {
		again, queue, lambda, variance float64
		want                           Class
	}{
		{0.0029, 0.1, 1, 0, ClassClean}, {0.003, 0.1, 1, 0, ClassSingle}, {0.0029, 0.5, 9, 0, ClassClean},
		{0.01, 0.3, 1, 0.5, ClassQueue}, {0.01, 0.29, 1, 0.06, ClassSingle}, {0.01, 0.3, 9, 0.5, ClassQueue},
		{0.01, 0.15, 1, 0.059, ClassQueue}, {0.01, 0.15, 1, 0.06, ClassSingle}, {0.01, 0.14, 1, 0.059, ClassSingle},
		{0.01, 0, 2.5, 0, ClassSingle}, {0.01, 0, 2.51, 0.06, ClassMixed}, {0.01, 0, 2.51, 0.059, ClassBursts},
		{0.01, 0, 7, 0.06, ClassMixed}, {0.01, 0, 7.01, 0.06, ClassBursts},
	} {
		if got := classOf(c.again, c.queue, c.lambda, c.variance); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestPolicerIsAClass: what the guard holds back in one selection is a class in both. The guard hits at the
// limits of its three tests and not beyond, and the class goes with it.
func TestPolicerIsAClass(t *testing.T) {
	for _, selection := range []string{SelectSlowest, SelectBenefit} {
		for _, c := range []struct {
			name        string
			flat, again float64
			policed     bool
		}{
			{"a policer", 0.1, 0.1, true}, {"at the limit of loss", 0.1, 0.05, true}, {"below it", 0.1, 0.049, false}, {"a rate that varies", 0.2, 0.1, false},
		} {
			r := DefaultRules()
			r.Select, r.Cap = selection, false
			e := New(r, firstBlock{})
			for w := range int64(12) {
				row := quiet(noon+300*w, letter(t, "a"), 30, 500_000)
				row.RateBytesPerS[record.Q20], row.RateBytesPerS[record.Q80] = 500_000*(1-c.flat), 500_000*(1+c.flat)
				row.MinRTTUs, row.SRTTUs, row.RetransShare = 60_000, 60_000, c.again
				row.EligibleRetransBytes = uint64(c.again * float64(row.EligibleSentBytes))
				e.Round(Input{Start: row.Start, RoundStart: row.Start + 300, Rows: []record.Window{row}})
			}
			x, _ := e.Explain(letter(t, "a"))
			class, _ := e.tracks[0].steady(r)
			guard := x.Guards[len(x.Guards)-1]
			want := map[string]map[bool]GuardState{SelectSlowest: {true: GuardHit, false: GuardPass}, SelectBenefit: {true: GuardOff, false: GuardOff}}[selection][c.policed]
			if (x.Signature.Class == ClassPolicer) != c.policed || (class == ClassPolicer) != c.policed || guard.Name != GuardPolicer || guard.State != want {
				t.Errorf("%s, %s: %s, steadily %s, guard %+v", selection, c.name, x.Signature.Class, class, guard)
			}
		}
	}
}

// TestSignatureLooksBack: a busy prefix is judged by its last half hour, a small one by up to six
// hours, each half hour taken whole; nothing older counts, and a class that holds in fewer than two
// thirds of the last quarter of an hour is not steady.
func TestSignatureLooksBack(t *testing.T) {
	r := DefaultRules()
	play := func(n uint32, again func(window int) float64, windows int) *track {
		e := byLevel(r)
		for w := range windows {
			row := quiet(noon+300*int64(w), letter(t, "a"), n, 100_000)
			row.MinRTTUs, row.SRTTUs = 100_000, 110_000
			row.EligibleRetransBytes = uint64(again(w) * float64(row.EligibleSentBytes))
			e.Round(Input{Start: row.Start, RoundStart: row.Start + 300, Rows: []record.Window{row}})
		}
		return e.tracks[0]
	}
	now := func(windows int) uint32 { return uint32(noon/300 + windows - 1) }
	turned := func(w int) float64 { return map[bool]float64{true: 0.02, false: 0}[w >= 72] } // after six hours
	for _, c := range []struct {
		n             uint32
		windows, want int
		again         float64
	}{
		{30, 73, 30, 0.02},     // the half hour that has just begun is enough
		{5, 79, 35, 0.02},      // 5 of it, 30 of the one before
		{1, 73, 31, 0.02 / 31}, // 1 of it, 6 of each of the five before, which lost nothing
	} {
		s := play(c.n, turned, c.windows).signature(now(c.windows), r)
		if s == nil || s.Conns != c.want || math.Abs(s.RetransShare-c.again) > 1e-5 {
			t.Errorf("%d a window: %+v, want %d connections and %.5f", c.n, s, c.want, c.again)
		}
	}
	if s := play(5, turned, 73).signature(now(73)+12*6, r); s != nil {
		t.Errorf("after six silent hours: %+v", s)
	}
	steady := play(30, func(int) float64 { return 0.02 }, 40)
	if class, in := steady.steady(r); class != ClassSingle || in != 3 {
		t.Errorf("steady: %q in %d", class, in)
	}
	byTurns := play(30, func(w int) float64 { return 0.04 * float64(w/6%2) }, 37)
	if class, in := byTurns.steady(r); class != "" || in != 1 {
		t.Errorf("good and bad by turns: %q in %d", class, in)
	}
}
