package qdisc

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSteady: whatever somebody once gave, what the kernel then tells comes back as told.
func TestSteady(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shift := rapid.SampledFrom([]uint{6, 10}).Draw(t, "shift")
		told := tells(rapid.Uint32Range(0, 1<<31).Draw(t, "given"), shift)
		if again := tells(steadyMicros(told, shift), shift); again != told {
			t.Errorf("told %d, comes back as %d", told, again)
		}
	})
	if tells(5000, 10) != 4999 || tells(4999, 10) != 4998 || steadyMicros(4999, 10) != 5000 {
		t.Error("not what Linux 6.1 does with 5 ms")
	}
}
