package policy

import (
	"math"
	"testing"
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
		p := Pool{Conns: signatureConns, RateBytesPerS: c.mbit * 1e6 / 8, MinRTTUs: c.rttMs * 1000,
			SRTTUs: c.rttMs * 1000 * (1 + c.queue), RetransShare: c.again / 100}
		p.Burst = burst(p.RateBytesPerS, p.SRTTUs, p.RetransShare)
		// The study's figures are rounded: 0.2 % can be 0.15 %.
		if s := p.signature(); s == nil || s.Class != c.class || math.Abs(math.Log(p.Burst/c.want)) > 0.15 {
			t.Errorf("%s (a switch gained x %.2f): %+v, lambda %.2f; want %s, %.2f", c.path, c.gain, s, p.Burst, c.class, c.want)
		}
	}
}

// TestSignatureNeedsEvidence: too few connections or no round-trip times tell nothing, and no
// loss at all is no division by zero.
func TestSignatureNeedsEvidence(t *testing.T) {
	whole := Pool{Conns: signatureConns, RateBytesPerS: 1e6, MinRTTUs: 50_000, SRTTUs: 55_000}
	whole.Burst = burst(whole.RateBytesPerS, whole.SRTTUs, 0)
	if s := whole.signature(); s == nil || s.Class != ClassClean || s.Single != 0 || s.InFlight != 38 || s.Queue != 0.1 {
		t.Errorf("without losses: %+v", s)
	}
	few, noRTT, noSRTT := whole, whole, whole
	few.Conns--
	noRTT.MinRTTUs, noSRTT.SRTTUs = 0, 0
	for _, p := range []Pool{few, noRTT, noSRTT, {}} {
		if s := p.signature(); s != nil {
			t.Errorf("%+v: %+v", p, s)
		}
	}
}

// TestSignatureLimits: which side of a limit the limit is on.
func TestSignatureLimits(t *testing.T) {
	for _, c := range []struct {
		again, queue, lambda float64
		want                 Class
	}{
		{0.0029, 0.1, 1, ClassClean}, {0.003, 0.1, 1, ClassSingle}, {0.0029, 0.5, 9, ClassClean},
		{0.01, 0.3, 1, ClassQueue}, {0.01, 0.29, 1, ClassSingle}, {0.01, 0.3, 9, ClassQueue},
		{0.01, 0, 2.5, ClassSingle}, {0.01, 0, 2.51, ClassMixed}, {0.01, 0, 7, ClassMixed}, {0.01, 0, 7.01, ClassBursts},
	} {
		p := Pool{Conns: 99, MinRTTUs: 100, SRTTUs: 100 + 100*c.queue, RetransShare: c.again, Burst: c.lambda}
		if got := p.signature().Class; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
