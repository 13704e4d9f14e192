package theory

import (
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
)

func TestVerdictAtEachThreshold(t *testing.T) {
	band := outcome.Theory{BoundBitPerS: 100, LowBitPerS: 40, HighBitPerS: 50, Model: "m"}
	for _, k := range []struct {
		measured float64
		cong     string
		loss     float64
		want     string
	}{
		{45, "cubic", 0.01, AsPredicted},
		{62.5, "cubic", 0.01, AsPredicted},
		{62.6, "cubic", 0.01, Above},
		{32, "cubic", 0.16, AsPredicted},
		{31.9, "cubic", 0.16, Below},
		{36, "bbr", 0.08, AsPredicted},
		{35.9, "bbr", 0.08, Below},
		{35.9, "bbr", 0.0801, AsPredicted}, // beyond the cliff's reach nothing is too low
		{1, "bbr", 0.16, AsPredicted},
		{62.6, "bbr", 0.16, Above},
	} {
		if got := Verdict(band, k.measured, k.cong, k.loss); got != k.want {
			t.Errorf("%v of %s at %v: %q, want %q", k.measured, k.cong, k.loss, got, k.want)
		}
	}
}

// TestPhysicsHoldsWithoutAModel: no cell is excused from the bound.
func TestPhysicsHoldsWithoutAModel(t *testing.T) {
	bare := outcome.Theory{BoundBitPerS: 100, Verdict: NoModel}
	for measured, want := range map[float64]string{1: NoModel, 101: NoModel, 101.1: Above} {
		if got := Verdict(bare, measured, "vegas", 0); got != want {
			t.Errorf("%v: %q, want %q", measured, got, want)
		}
	}
	// A wide band does not excuse either.
	wide := outcome.Theory{BoundBitPerS: 100, LowBitPerS: 50, HighBitPerS: 100, Model: "m"}
	if got := Verdict(wide, 102, "bbr", 0); got != Above {
		t.Errorf("above the bound: %q", got)
	}
}
