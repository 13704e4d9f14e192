package record

import (
	"math"
	"testing"
)

func TestTimes(t *testing.T) {
	for w, want := range map[float64]uint64{0: 1, 1: 1, -3: 1, 0.5: 1, 2: 2, 16: 16, 2.6: 3, 1024: 1024, 1e300: MaxWeight, math.Inf(1): MaxWeight, math.Inf(-1): 1} {
		if got := (&Conn{Weight: w}).Times(); got != want {
			t.Errorf("a weight of %v is %d, want %d", w, got, want)
		}
	}
	if got := (&Conn{Weight: math.NaN()}).Times(); got != 1 {
		t.Errorf("a weight of NaN is %d", got)
	}
}
