package scenario

// handover moves between cells of a mobile network: every so often nothing for a
// moment, then another rate and another round trip. The lists are gone through again
// and again; an empty one leaves the path's own value.
type handover struct {
	everyUs, outageUs uint64
	rates, rtts       []uint64
}

func (h *handover) steps(p *Path, spanUs uint64) (out []Step) {
	for k := uint64(0); k*h.everyUs < spanUs && len(out) <= maxCellSteps; k++ {
		now := Step{AtUs: k * h.everyUs, RateBitPerS: cycle(h.rates, k, p.RateBitPerS),
			RTTUs: cycle(h.rtts, k, p.RTTUs), LossPPM: p.Loss.PPM}
		if k > 0 && h.outageUs > 0 {
			gap := now
			gap.RateBitPerS = outageBitPerS
			out = append(out, gap)
			now.AtUs += h.outageUs
		}
		out = append(out, now)
	}
	return out
}

func cycle(list []uint64, k, otherwise uint64) uint64 {
	if len(list) == 0 {
		return otherwise
	}
	return list[k%uint64(len(list))]
}
