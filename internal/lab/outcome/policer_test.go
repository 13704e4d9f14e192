package outcome

import "testing"

// bbr tells the state of a simulated BBRv1 connection: gains and rate at a time.
type bbr func(us uint64) (pacing, cwnd uint32, rate uint64)

// sampled looks at it.
func (b bbr) sampled(everyUs, us uint64, minRTT uint32) (list []Sample) {
	for at := uint64(0); at < us; at += everyUs {
		s := Sample{AtUs: at, Flow: "a", BBRMinRTTUs: minRTT}
		s.BBRPacingGain, s.BBRCwndGain, s.BBRBwBytesPerS = b(at)
		list = append(list, s)
	}
	return list
}

const simRTT = 40_000

// probing is STARTUP for 10 round trips, then gain cycles; PROBE_RTT of 200 ms each 10 s.
// The rate stays the same, as in virtual time it may.
func probing(us uint64) (pacing, cwnd uint32, rate uint64) {
	cycle := [8]uint32{320, 192, 256, 256, 256, 256, 256, 256}
	switch round := us / (simRTT + 1500); { // a phase ends with the acknowledgement after its min_rtt
	case round < 10:
		return 739, 739, 1_000_000
	case us%10_000_000 < 200_000:
		return 256, 256, 1_000_000
	default:
		return cycle[round%8], 512, 1_000_000
	}
}

// policed falls into an episode of 48 round trips at 3 s.
func policed(us uint64) (pacing, cwnd uint32, rate uint64) {
	if us >= 3_000_000 && us < 3_000_000+48*simRTT {
		return 256, 512, 700_000
	}
	return probing(us)
}

// TestPolicerShare at 40 ms: samples finer than a round trip see the episode, coarser
// ones see it or nothing, and none sees one that is not there.
func TestPolicerShare(t *testing.T) {
	const us = 20_000_000
	for _, every := range []uint64{5_000, 10_000, 20_000, 40_000, 50_000, 80_000, 100_000, 200_000, 332_000, 1_000_000} {
		if got := policerShare(bbr(probing).sampled(every, us, simRTT)); got != 0 && every != 332_000 {
			t.Errorf("every %d us: %.3f of a connection without episodes", every, got)
		}
		got, want := policerShare(bbr(policed).sampled(every, us, simRTT)), 48.0*simRTT/us
		switch {
		case every <= simRTT && (got < want-0.01 || got > want+0.01):
			t.Errorf("every %d us: %.3f, want %.3f", every, got, want)
		case every > 2*simRTT && got != 0 && every != 332_000:
			t.Errorf("every %d us: %.3f from samples that cannot tell", every, got)
		}
	}
}

// TestPolicerShareOfOthers: a connection without BBR has none, one in an episode from
// the first to the last sample has all, and flows do not mix.
func TestPolicerShareOfOthers(t *testing.T) {
	if got := policerShare([]Sample{{AtUs: 1}, {AtUs: 2}}); got != 0 {
		t.Errorf("cubic: %v", got)
	}
	always := bbr(func(uint64) (uint32, uint32, uint64) { return 256, 512, 5 }).sampled(20_000, 1_000_000, simRTT)
	if got := policerShare(always); got != 1 {
		t.Errorf("all the time: %v", got)
	}
	var mixed []Sample
	for i, s := range bbr(probing).sampled(20_000, 1_000_000, simRTT) {
		s.Flow = "b"
		mixed = append(mixed, always[i], s)
	}
	if got := policerShare(mixed); got != 0.5 {
		t.Errorf("one of two flows: %v", got)
	}
	if got := policerShare(bbr(policed).sampled(20_000, 20_000_000, 0)); got != 0 {
		t.Errorf("without min_rtt: %v", got)
	}
}

// TestPolicerShareOfShortRoundTrips: at 1 ms an episode of 240 ms, as recorded on a real kernel
// with 16 % of loss, has a dozen samples of 20 ms, less than chance could give once. A
// connection that goes from one into the next gives itself away by hardly probing; one
// that probes all the time at one rate does not.
func TestPolicerShareOfShortRoundTrips(t *testing.T) {
	const minRTT, episodeUs, betweenUs, us = 1000, 240_000, 110_000, 8_000_000
	cycle := [8]uint32{320, 192, 256, 256, 256, 256, 256, 256}
	free := func(at uint64) (uint32, uint32, uint64) { return cycle[at/1130%8], 512, 1_000_000 }
	caught := func(at uint64) (uint32, uint32, uint64) {
		if at%(episodeUs+betweenUs) < episodeUs {
			return 256, 512, 700_000 + at/(episodeUs+betweenUs)
		}
		return free(at)
	}
	for _, every := range []uint64{10_000, 15_000, 20_000} {
		if got := policerShare(bbr(free).sampled(every, us, minRTT)); got != 0 {
			t.Errorf("every %d us: %.3f of a connection without episodes", every, got)
		}
		want := float64(episodeUs) / (episodeUs + betweenUs)
		if got := policerShare(bbr(caught).sampled(every, us, minRTT)); got < want-0.05 || got > want+0.05 {
			t.Errorf("every %d us: %.3f, want %.3f", every, got, want)
		}
	}
}
