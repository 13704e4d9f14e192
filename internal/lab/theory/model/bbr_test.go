package model

import (
	"math"
	"testing"
)

// fluidShare is BBR's steady rate without noise and detector, the slow way: whole
// cycles of eight phases until nothing changes, in shares of the cap.
func fluidShare(loss float64, after bool) float64 {
	bw, queue, share := 1.0, 0.0, 0.0
	for range 200 {
		best, sum := 0.0, 0.0
		for _, gain := range bbrGains {
			arrivals := gain * 0.99 * bw
			if !after {
				arrivals *= 1 - loss
			}
			out := min(1, arrivals+queue)
			queue += arrivals - out
			if after {
				out *= 1 - loss
			}
			best, sum = max(best, out), sum+out
		}
		bw, share = best, sum/8
	}
	return share
}

// TestBBRIsTheFluid: on a path of 800 packets noise and detector do nothing below 12 %.
// The shares are those of an earlier study, to its two digits.
func TestBBRIsTheFluid(t *testing.T) {
	for _, k := range []struct{ loss, before, after float64 }{
		{0, 0.99, 0.99}, {0.001, 0.99, 0.99}, {0.01, 0.98, 0.97}, {0.02, 0.97, 0.95}, {0.04, 0.95, 0.91}, {0.08, 0.91, 0.84},
	} {
		for _, after := range []bool{false, true} {
			p := line(0.099, k.loss)
			p.LossAfter = after
			got, want, study := BBR(p, Transfer{}).Expected/p.CapBitPerS(), fluidShare(k.loss, after), k.before
			if after {
				study = k.after
			}
			if math.Abs(got-want) > 0.004 || math.Abs(want-study) > 0.006 {
				t.Errorf("loss %g, after %v: model %.3f, fluid %.3f, study %.2f", k.loss, after, got, want, study)
			}
		}
	}
	// The study left the detector out of its last column.
	if before, after := fluidShare(0.16, false), fluidShare(0.16, true); math.Abs(before-0.83) > 0.005 || math.Abs(after-0.70) > 0.005 {
		t.Errorf("fluid at 16 %%: %.3f, %.3f", before, after)
	}
}

// TestCliffs: probing needs 1.25 x 0.99 x (1-p) >= 1, so p <= 19.2 %.
func TestCliffs(t *testing.T) {
	if high, low := fluidShare(0.191, false), fluidShare(0.194, false); high < 0.7 || low > 0.6 {
		t.Errorf("fluid %.3f below the cliff, %.3f beyond", high, low)
	}
	// The detector's cliff comes first: for long, and on a long path.
	p := line(0.099, 0.18)
	if b := BBR(p, Transfer{}); b.High > 0.1*p.CapBitPerS() {
		t.Errorf("18 %%: %+v", b)
	}
}

// rounds feeds the detector n rounds of the same kind.
func (l *policer) feed(n int, delivered, lost float64, probing bool) (lifted bool) {
	for range n {
		l.begin(probing)
		for range policerLooks {
			l.look(delivered/policerLooks, lost/policerLooks)
		}
		lifted = l.end()
	}
	return lifted
}

// TestPolicerTrips at 50/256 of what was delivered, in two intervals of four rounds, and
// lets go after 48 of PROBE_BW.
func TestPolicerTrips(t *testing.T) {
	for share, trips := range map[float64]bool{0.195: false, 0.196: true} {
		var l policer
		if l.feed(40, 0.8, 0.8*share, true); l.limits() != trips {
			t.Errorf("lost/delivered %g: limits %v", share, l.limits())
		}
	}
	var l policer
	if l.feed(6, 0.8, 0.2, true); l.limits() {
		t.Error("tripped in less than two intervals")
	}
	l.feed(3, 0.8, 0.2, true)
	if !l.limits() || math.Abs(l.bw-0.8) > 0.1 {
		t.Errorf("not tripped after two intervals: %+v", l)
	}
	for l.hold < policerHold { // from the start of a hold
		l.feed(1, 0.8, 0.2, true)
	}
	if l.feed(10, 0.8, 0.2, false); l.hold != policerHold {
		t.Error("DRAIN counts")
	}
	if l.feed(policerHold-1, 0.8, 0.2, true) || !l.limits() {
		t.Error("lifted early")
	}
	if !l.feed(1, 0.8, 0.2, true) || l.limits() {
		t.Error("not lifted")
	}
}

// TestPolicerWantsOneRate: intervals that differ by more than an eighth start over.
func TestPolicerWantsOneRate(t *testing.T) {
	var l policer
	for n := range 12 {
		l.feed(4, []float64{0.5, 0.9}[n%2], 0.4, true)
	}
	if l.limits() {
		t.Error("tripped by two different rates")
	}
}

// TestStartup: from ten packets the window doubles; the first second of 100 ms rounds
// leaves a third of the link unused.
func TestStartup(t *testing.T) {
	p := line(0.1, 0)
	got := BBR(p, Transfer{Bytes: 64e6})
	whole := 64e6 * 8 / p.CapBitPerS()
	lost := 64e6*8/got.Expected - whole
	// log2(827/10) = 6.4 rounds, 2 round trips of request and way, and 1 % of margin.
	if lost < 0.55 || lost > 0.95 {
		t.Errorf("the start costs %.2f s", lost)
	}
}

func TestProbeRTT(t *testing.T) {
	p := line(0.1, 0)
	pause := 0.2 + p.roundSeconds()
	pause *= 1 - 4/p.bdp()
	if got, want := probeRTT(p, Transfer{}, 1), 1-pause/(10+pause); math.Abs(got-want) > 1e-9 {
		t.Errorf("endless %.5f, want %.5f", got, want)
	}
	if got := probeRTT(p, Transfer{Seconds: 9}, 1e6); math.Abs(got/1e6-1) > 1e-9 {
		t.Errorf("nine seconds need no pause: %v", got)
	}
	if got, want := probeRTT(p, Transfer{Seconds: 25}, 1e6), 1e6*25/(25+2*pause); math.Abs(got/want-1) > 1e-3 {
		t.Errorf("two pauses: %v, want %v", got, want)
	}
}
