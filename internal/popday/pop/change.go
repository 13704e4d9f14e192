package pop

import (
	"math"
	"slices"
)

// changesOf returns all changes of a path in a day, the first at 0 if it differs from the
// start. Each change restarts the bucket of a token bucket and the seed of losses, so equal
// neighbours are left out.
func changesOf(c *Class, base Path, network int, lengthUs uint64, d *dice) (out []Change) {
	rates := wander(c.Vary, lengthUs, d)
	last := base
	for _, at := range c.moments(lengthUs) {
		now := base
		if c.Vary.SDPPM > 0 {
			now.RateBitPerS = scaled(base.RateBitPerS, rates[at/c.Vary.EveryUs])
		}
		for i := range c.Whens {
			c.Whens[i].apply(at, &now)
		}
		if now != last {
			out = append(out, Change{at, network, now})
			last = now
		}
	}
	return out
}

// wander returns the log of the rate over the path's at each step.
func wander(v Vary, lengthUs uint64, d *dice) (x []float64) {
	if v.SDPPM == 0 {
		return nil
	}
	sd := float64(v.SDPPM) / 1e6
	keep := math.Exp(-float64(v.EveryUs) / float64(v.MemoryUs))
	now := d.normal()
	for at := uint64(0); at < lengthUs; at += v.EveryUs {
		x = append(x, now*sd)
		now = keep*now + math.Sqrt(1-keep*keep)*d.normal()
	}
	return x
}

// moments returns the times at which something may change, in order, each once.
func (c *Class) moments(lengthUs uint64) []uint64 {
	at := []uint64{0}
	if c.Vary.SDPPM > 0 {
		for t := c.Vary.EveryUs; t < lengthUs; t += c.Vary.EveryUs {
			at = append(at, t)
		}
	}
	for _, w := range c.Whens {
		for t := w.FromUs; t < lengthUs; t += w.EveryUs {
			at = append(at, t)
			if end := t + w.ForUs; end < lengthUs {
				at = append(at, end)
			}
			if w.EveryUs == 0 {
				break
			}
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// apply changes p where at lies within w.
func (w *When) apply(at uint64, p *Path) {
	if at < w.FromUs {
		return
	}
	since := at - w.FromUs
	if w.EveryUs > 0 {
		since %= w.EveryUs
	}
	if since >= w.ForUs {
		return
	}
	if w.RateBitPerS != nil {
		p.RateBitPerS = *w.RateBitPerS
	}
	if w.RTTUs != nil {
		p.RTTUs = *w.RTTUs
	}
	if w.LossPPM != nil {
		p.LossPPM = *w.LossPPM
	}
}
