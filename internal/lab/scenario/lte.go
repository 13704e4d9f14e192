package scenario

import (
	"errors"
	"math"
	"math/bits"
)

// A cellular uplink as two states and a walk. While there is coverage the rate is
//
//	rate = median x Q(u),   u' = fold(u + uniform(-s, s))
//
// where Q is the quantile function of the measured rates. A reflecting walk on 0..1
// stays uniform, so the rates have exactly the measured distribution, whatever the
// pace of the walk, and neighbouring seconds are alike. Outages come and go as a
// two-state Markov chain with the measured share of time.
//
// Q: the per-second uplink rates of Verizon LTE in the mahimahi traces (Winstein et
// al., NSDI 2013), p5/p25/p50/p75/p95 = 1.2/3.6/5.7/8.4/11.4 Mbit/s. Shares of outage:
// none there, 1 % and 9 % in two traces of AT&T from a moving car (of which the worse
// had 94 of 1012 seconds). No trace is kept here.
type lte struct {
	level   attenuation
	seed    uint64
	everyUs uint64
	median  *uint64 // bit/s, instead of the level's
	outage  *uint32 // ppm of time, instead of the level's
}

// attenuation of the antenna's signal. Measured car traces are about these factors
// slower than the still ones.
type attenuation struct {
	medianBitPerS uint64
	outagePPM     uint32
}

var attenuations = map[string]attenuation{
	"0dB":  {5_700_000, 0},
	"10dB": {1_995_000, 10_000}, // x 0.35
	"20dB": {570_000, 90_000},   // x 0.1
}

func parseAttenuation(s string) (attenuation, error) {
	a, ok := attenuations[s]
	if !ok {
		return a, errors.New("no such level; write 0dB, 10dB or 20dB, and median and outage for others")
	}
	return a, nil
}

// quantiles of rate / median in thousandths, at u in 65536ths. The ends continue the last
// pieces, except the lower one, which stops at half of p5.
var quantiles = []struct{ u, permille uint64 }{
	{0, 105}, {3277, 211}, {16384, 632}, {32768, 1000}, {49152, 1474}, {62259, 2000}, {65536, 2131},
}

const (
	// strideSecond of the walk in a second, in 65536ths: a fifth of the range at most.
	// The link forgets its state in about 15 s.
	strideSecond = 13107
	// meanOutageUs: two seconds is a blind spot at walking or a bridge at driving pace.
	meanOutageUs = 2_000_000
)

func (l *lte) steps(p *Path, spanUs uint64) (out []Step) {
	median, outage := l.level.medianBitPerS, l.level.outagePPM
	set(&median, l.median)
	set(&outage, l.outage)
	leave := min(ppm, mulDiv(ppm, l.everyUs, meanOutageUs))
	enter := mulDiv(leave, uint64(outage), uint64(ppm-min(outage, ppm-1)))
	// A walk's spread grows with the root of time: the pace of steps does not change it.
	// A float's root is exact below 2^52; steps of a day have 2^44.
	stride := max(1, uint64(math.Sqrt(float64(mulDiv(strideSecond*strideSecond, l.everyUs, 1e6)))))

	r := random(l.seed)
	u, silent := r.below(1<<16), r.below(ppm) < uint64(outage)
	for at := uint64(0); at < spanUs && len(out) <= maxCellSteps; at += l.everyUs {
		rate := mulDiv(median, quantile(u), 1000) / 8 * 8
		if silent {
			rate = outageBitPerS
		}
		out = append(out, Step{AtUs: at, RateBitPerS: max(rate, outageBitPerS), RTTUs: p.RTTUs, LossPPM: p.Loss.PPM})
		u = fold(int64(u) + int64(r.below(2*stride+1)) - int64(stride))
		change := enter
		if silent {
			change = leave
		}
		silent = silent != (r.below(ppm) < change)
	}
	return out
}

func quantile(u uint64) uint64 {
	i := 1
	for u > quantiles[i].u {
		i++
	}
	a, b := quantiles[i-1], quantiles[i]
	return a.permille + (b.permille-a.permille)*(u-a.u)/(b.u-a.u)
}

// fold reflects v into 0..65535.
func fold(v int64) uint64 {
	for v < 0 || v > 65535 {
		if v < 0 {
			v = -v
		} else {
			v = 2*65535 - v
		}
	}
	return uint64(v)
}

// random is SplitMix64 (Steele, Lea, Flood 2014). It is our own, so that a file gives the
// same link with every release of Go.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns 0..n-1; the bias of 2^-40 and less is no matter here.
func (r *random) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.next(), n)
	return hi
}
