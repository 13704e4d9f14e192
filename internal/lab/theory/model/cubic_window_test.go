package model

import (
	"math"
	"testing"
)

// TestWindowFollowsTheCurve: after a reduction at 1000 packets the window is where RFC 9438's
// equation says, at every round of 100 ms until long past the plateau.
func TestWindowFollowsTheCurve(t *testing.T) {
	w := newCubicWindow()
	w.cwnd = 1000
	w.reduce()
	if w.cwnd != 700 || w.wmax != 1000 {
		t.Fatalf("after the reduction %+v", w)
	}
	k := math.Cbrt(300 / 0.4)
	for n := 1; n <= 150; n++ {
		w.grow(w.cwnd, 0.1)
		want := max(1000+0.4*math.Pow(float64(n)*0.1-k, 3), 700)
		if math.Abs(w.cwnd-want) > 2 {
			t.Fatalf("round %d: window %.1f, the curve %.1f", n, w.cwnd, want)
		}
	}
	if w.cwnd < 1050 {
		t.Errorf("no convex part: %.1f", w.cwnd)
	}
}

// TestWindowIsFriendly: where the round trip is short the window grows as Reno's would,
// 8/15 packets a round.
func TestWindowIsFriendly(t *testing.T) {
	w := newCubicWindow()
	w.cwnd = 20
	w.reduce()
	for n := 1; n <= 15; n++ {
		w.grow(w.cwnd, 0.002)
		if want := 14 + float64(n)*8/15; math.Abs(w.cwnd-want) > 0.6 || w.cwnd < want-0.3 {
			t.Fatalf("round %d: window %.2f, want %.2f", n, w.cwnd, want)
		}
	}
}

func TestWindowConverges(t *testing.T) {
	w := newCubicWindow()
	w.cwnd = 100
	w.reduce()
	w.reduce()
	if w.wmax != 70*0.85 || w.cwnd != 49 {
		t.Errorf("a second reduction: %+v", w)
	}
	for range 20 {
		w.reduce()
	}
	if w.cwnd != 2 {
		t.Errorf("least window %v", w.cwnd)
	}
}

func TestSlowStartStopsAtSsthresh(t *testing.T) {
	w := newCubicWindow()
	for range 3 {
		w.grow(w.cwnd, 0.1)
	}
	if w.cwnd != 80 {
		t.Errorf("after three rounds %v", w.cwnd)
	}
	w.reduce()
	w.timeout()
	for _, want := range []float64{2, 4, 8, 16, 32, 56} {
		if w.grow(w.cwnd, 0.1); w.cwnd != want {
			t.Errorf("after a timeout %v, want %v", w.cwnd, want)
		}
	}
}
