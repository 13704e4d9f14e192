package city

import (
	"math"

	"github.com/congctl/congctl/internal/core/record"
)

// row is what an agent would report: rates are logarithms, sorted, under CUBIC.
func (p *Place) row(start int64, s Served, rates []float64) record.Window {
	n := uint32(len(rates))
	w := record.Window{
		Start: start, Prefix: p.Prefix, Arm: s.Arm, Cong: "cubic", Washout: s.Washout,
		Control: s.Arm != record.ArmTreatment && !s.Washout,
		Conns:   2 * n, Eligible: n, RateMeans: n, Bytes: uint64(n) * bytesOfConn,
		MinRTTUs: p.Kind.MinRTTUs, SRTTUs: 1.3 * p.Kind.MinRTTUs,
		RetransShare: p.Kind.Retrans, RwndShare: 0.05, BusyShare: 0.9,
		EligibleSentBytes: uint64(n) * bytesOfConn,
	}
	w.EligibleRetransBytes = uint64(p.Kind.Retrans * float64(w.EligibleSentBytes))
	gain := 0.0
	if s.Arm == record.ArmTreatment {
		gain = math.Log(p.Factor)
		w.Cong = "bbr"
	}
	for i, q := range record.RateQuantiles {
		w.RateBytesPerS[i] = quantile(rates, q, gain)
	}
	w.LogRateMean, w.LogRateVar = moments(rates)
	w.LogRateMean += gain
	return w
}

// quantile is type 7 of exp(rates + gain), with two exponentials instead of n.
func quantile(rates []float64, q, gain float64) float64 {
	h := q * float64(len(rates)-1)
	i := int(h)
	v := math.Exp(rates[i] + gain)
	if i+1 < len(rates) {
		v += (h - float64(i)) * (math.Exp(rates[i+1]+gain) - v)
	}
	return v
}

func moments(x []float64) (mean, variance float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / n
	}
	return mean, variance
}
