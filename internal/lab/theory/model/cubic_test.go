package model

import (
	"math"
	"testing"
)

// TestShortTransfers: without loss slow start can be counted on fingers. 10, 20, 40
// packets a round; the first arrive two round trips after the request, and what goes at
// once (two packets, or 1.2 ms of a round) adds its own time to each.
func TestShortTransfers(t *testing.T) {
	p := line(0.1, 0)
	each := 1 / p.packetsPerS()
	for packets, rounds := range map[float64]float64{1: 1, 10: 1, 12: 2, 30: 2, 32: 3, 70: 3} {
		want := packets * 1448 * 8 / (0.1 + rounds*(0.1+2*each))
		if packets == 1 {
			want = 1448 * 8 / (0.2 + each)
		}
		got := Cubic(p, Transfer{Bytes: packets * 1448})
		if math.Abs(got.Expected/want-1) > 1e-9 || math.Abs(got.Low/want-1) > 0.002 {
			t.Errorf("%v packets: %.6g, low %.6g, want %.6g", packets, got.Expected, got.Low, want)
		}
	}
}

// TestLongTransfersFillAnEmptyLink: without loss nothing but the start is missing.
func TestLongTransfersFillAnEmptyLink(t *testing.T) {
	for _, rtt := range []float64{0.001, 0.099, 0.231} {
		p := line(rtt, 0)
		if b := Cubic(p, Transfer{}); math.Abs(b.Low/p.CapBitPerS()-1) > 1e-9 || b.High > p.CapBitPerS() {
			t.Errorf("%g s: %+v of %.0f", rtt, b, p.CapBitPerS())
		}
	}
}

// TestLongTransfersAreOneModel: what is simulated to the end agrees with what is
// continued at the mean rate, and with a transfer without end.
func TestLongTransfersAreOneModel(t *testing.T) {
	p := line(0.099, 0.01)
	endless := Cubic(p, Transfer{})
	for _, tr := range []Transfer{{Seconds: 300}, {Seconds: 3000}, {Bytes: 45e6}} {
		if got := Cubic(p, tr); math.Abs(got.Expected/endless.Expected-1) > 0.04 {
			t.Errorf("%+v: %.4g, endless %.4g", tr, got.Expected, endless.Expected)
		}
	}
}

// TestCubicNearTheResponse: where timeouts are rare, the rounds give what the closed form
// does, less what it leaves out: a round of Recovery for each loss and whole packets.
func TestCubicNearTheResponse(t *testing.T) {
	for _, k := range []struct{ rtt, loss float64 }{{0.006, 0.001}, {0.02, 0.001}, {0.099, 0.001}, {0.02, 0.01}, {0.231, 0.0001}} {
		p := line(k.rtt, k.loss)
		if share := Cubic(p, Transfer{}).Expected / ResponseBitPerS(p); share < 0.8 || share > 1.15 {
			t.Errorf("%+v: %.2f of the response", k, share)
		}
	}
}

func TestCubicFallsWithLoss(t *testing.T) {
	for _, rtt := range []float64{0.001, 0.05, 0.231} {
		last := math.Inf(1)
		for _, loss := range losses6 {
			b := Cubic(line(rtt, loss), Transfer{Bytes: 16e6})
			if b.Expected > last*1.001 || b.Low > b.Expected || b.Expected > b.High {
				t.Errorf("%g s, %g: %+v after %.4g", rtt, loss, b, last)
			}
			last = b.Expected
		}
	}
}

func TestWindowLimits(t *testing.T) {
	p := line(0.1, 0)
	p.WindowPackets = 100
	want := p.payload(100) / p.roundSeconds()
	// BBR's gain cycle leaves 4 % of a window unused: (1 + 0.7425 + 6 x 0.99) / 8.
	for name, b := range map[string]Band{"CUBIC": Cubic(p, Transfer{}), "BBR": BBR(p, Transfer{})} {
		if share := b.High / want; share > 1.0001 || share < 0.955 || b.Low > 0.55*want || b.Low < 0.45*want {
			t.Errorf("%s: %+v, one window a round trip is %.4g", name, b, want)
		}
	}
}
