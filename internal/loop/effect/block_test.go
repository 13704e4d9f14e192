package effect

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

// raw is a block from values, the slow and obvious way.
func raw(x []float64) (b Block) {
	b.N = len(x)
	for _, v := range x {
		b.MeanLog += v / float64(len(x))
	}
	for _, v := range x {
		b.VarLog += (v - b.MeanLog) * (v - b.MeanLog) / float64(len(x))
	}
	b.SentBytes, b.RetransBytes = uint64(10*len(x)), uint64(len(x))
	return b
}

func TestJoinIsExact(t *testing.T) {
	values := rapid.SliceOfN(rapid.Float64Range(-20, 20), 0, 30)
	rapid.Check(t, func(rt *rapid.T) {
		x, y := values.Draw(rt, "x"), values.Draw(rt, "y")
		got, want := raw(x).Join(raw(y)), raw(append(append([]float64{}, x...), y...))
		if got.N != want.N || got.SentBytes != want.SentBytes || got.RetransBytes != want.RetransBytes ||
			math.Abs(got.MeanLog-want.MeanLog) > 1e-9 || math.Abs(got.VarLog-want.VarLog) > 1e-9 {
			rt.Fatalf("joined %+v, at once %+v", got, want)
		}
	})
}

// TestJoinByHand: round trips are weighted by connections; bytes count where no
// connection was eligible.
func TestJoinByHand(t *testing.T) {
	a := Block{N: 1, MeanLog: 10, SentBytes: 100, RetransBytes: 4, SRTTUs: 50, MinRTTUs: 20}
	b := Block{N: 3, MeanLog: 14, SentBytes: 300, RetransBytes: 0, SRTTUs: 90, MinRTTUs: 40}
	got := a.Join(b)
	if want := (Block{N: 4, MeanLog: 13, VarLog: 3, SentBytes: 400, RetransBytes: 4, SRTTUs: 80, MinRTTUs: 35}); got != want {
		t.Errorf("joined %+v, want %+v", got, want)
	}
	if got.RetransShare() != 0.01 || (Block{}).RetransShare() != 0 {
		t.Errorf("shares %v and %v", got.RetransShare(), (Block{}).RetransShare())
	}
	none := Block{SentBytes: 50, RetransBytes: 5}
	for _, got := range []Block{none.Join(a), a.Join(none)} {
		if got.N != 1 || got.MeanLog != 10 || got.SentBytes != 150 || got.RetransBytes != 9 || got.SRTTUs != 50 {
			t.Errorf("with an empty block: %+v", got)
		}
	}
}

// TestGoodputOfTheFollowed: of ten eligible connections eBPF followed three, and goodput is known of those alone. A row
// without any says nothing of it.
func TestGoodputOfTheFollowed(t *testing.T) {
	w := record.Window{Eligible: 10, RateMeans: 3, LogRateMean: 12, LogGoodputMean: 11, LogGoodputVar: 0.5, EligibleSentBytes: 100, MinRTTUs: 20, SRTTUs: 30}
	b := BlockOf(&w)
	if want := (Moments{3, 11, 0.5}); b.N != 10 || b.Goodput != want {
		t.Errorf("%+v, want 10 connections, goodput %+v", b, want)
	}
	if s, ok := SideOf(&w); !ok || s.N != 3 {
		t.Errorf("%+v, %v", s, ok)
	}
	w.RateMeans = 0
	if s, ok := SideOf(&w); ok || BlockOf(&w).Goodput != (Moments{}) {
		t.Errorf("%+v and %+v of none", BlockOf(&w), s)
	}
}
