package stat

import (
	"slices"
	"testing"
)

// The numbers of the author's own demo, pcg32-demo with seed 42 and stream 54.
func TestRandKnown(t *testing.T) {
	r := NewRand(42, 54)
	var got []uint32
	for range 6 {
		got = append(got, r.Uint32())
	}
	if want := []uint32{0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b, 0xcbed606e}; !slices.Equal(got, want) {
		t.Errorf("got %#x, want %#x", got, want)
	}
}

// TestIndexIsFair: each number as often as the next, by chi-square with its 99.9 %
// bound; a size just above 2^31 needs the second draw for half of all.
func TestIndexIsFair(t *testing.T) {
	r := NewRand(1, 1)
	const draws = 60_000
	counts := make([]int, 6)
	for range draws {
		counts[r.Index(6)]++
	}
	if x := chiSquare(counts, draws/6); x > 20.5 {
		t.Errorf("counts %v: chi-square %.1f with 5 degrees", counts, x)
	}
	thirds := make([]int, 3)
	const size = 3 << 29 // fits an int of 32 bits, and a quarter of all numbers has to be drawn again
	for range draws {
		thirds[r.Index(size)/(size/3)]++
	}
	if x := chiSquare(thirds, draws/3); x > 13.8 {
		t.Errorf("thirds %v: chi-square %.1f with 2 degrees", thirds, x)
	}
}

func chiSquare(counts []int, expected float64) (x float64) {
	for _, c := range counts {
		d := float64(c) - expected
		x += d * d / expected
	}
	return x
}
