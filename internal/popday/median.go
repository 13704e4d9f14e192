package popday

import (
	"slices"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// median is what the large responses of one network were in a run.
type median struct {
	n    int     // responses
	rate float64 // the median of their goodput, bytes/s; 0 without
	// again is the share of the bytes sent that were sent again.
	again float64
}

// mediansOf returns those of a run's networks.
func mediansOf(r *Run) []median {
	out := make([]median, len(r.Facts.Networks))
	rates := make([][]float64, len(out))
	sent, again := make([]uint64, len(out)), make([]uint64, len(out))
	for i := range r.Responses {
		x := &r.Responses[i]
		if !x.large() || !x.whole() {
			continue
		}
		rates[x.Network] = append(rates[x.Network], x.goodput())
		sent[x.Network], again[x.Network] = sent[x.Network]+x.SentBytes, again[x.Network]+x.RetransBytes
	}
	for n, list := range rates {
		if len(list) > 0 {
			slices.Sort(list)
			out[n] = median{len(list), stat.Sorted(list, 0.5), share(again[n], sent[n])}
		}
	}
	return out
}
