package main

import "github.com/congctl/congctl/internal/core/stat"

// figures are of large responses under one treatment.
type figures struct {
	rates, goodputs []float64 // bytes/s
	sent, retrans   uint64    // bytes
}

func (f *figures) add(r *response) {
	f.rates = append(f.rates, float64(r.RateBytesPerS))
	f.goodputs = append(f.goodputs, r.goodput())
	f.sent += r.SentBytes
	f.retrans += r.RetransBytes
}

// median is the type-7 median in Mbit/s, 0 of nothing.
func median(bytesPerS []float64) float64 {
	if len(bytesPerS) == 0 {
		return 0
	}
	return stat.Quantile(bytesPerS, 0.5) * 8 / 1e6
}

// retransShare is of bytes sent.
func (f figures) retransShare() float64 {
	if f.sent == 0 {
		return 0
	}
	return float64(f.retrans) / float64(f.sent)
}
