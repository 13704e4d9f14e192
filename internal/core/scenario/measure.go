package scenario

const (
	// samples of a cell at most: enough for a plot as wide as a page.
	samples = 600
	// Sampling finer than a millisecond would cost the guest more than the traffic;
	// coarser than a second would miss whole cycles of BBR.
	minSampleUs, maxSampleUs = 1_000, 1_000_000
	// probeFrame is what a probe takes of the link, in bytes, and probeShare the part of
	// the link that probes may take, in thousandths.
	probeFrame, probeShare = 100, 5
	// slack: a flow that went slower than the slowest model by this factor, and then
	// graceUs more, has hung.
	slack   = 4
	graceUs = 60_000_000
	// warmRounds until the steady state: BBR's STARTUP takes about 13 at 231 ms.
	warmRounds = 20
)

// resolveMeasure fills in how the cell is watched and when it is ended.
func (c *Cell) resolveMeasure() {
	if c.SampleUs == 0 {
		c.SampleUs = min(max(round125(c.Cost().VirtualUs/samples), minSampleUs), maxSampleUs)
	}
	switch c.ProbeUs {
	case noProbe:
		c.ProbeUs = 0
	case 0:
		sparse := mulDiv(probeFrame*8*1000*1e6, 1, probeShare*max(c.Path.RateBitPerS, 1))
		c.ProbeUs = max(c.SampleUs, round125(sparse))
	}
	if c.WarmUpUs == 0 {
		c.WarmUpUs = min(warmRounds*min(c.Path.RTTUs, maxTimeUs), c.earliest()/3)
	}
	if c.LimitUs == 0 {
		c.LimitUs = c.latest()
	}
}

// earliest end of the last flow, the same for every arm.
func (c *Cell) earliest() (us uint64) {
	for i := range c.Flows {
		f := &c.Flows[i]
		us = max(us, toUs(seconds(f.StartUs)+f.time(c, c.share(f, fastest))))
	}
	return us
}

// latest end of the last flow, in whole seconds.
func (c *Cell) latest() (us uint64) {
	for i := range c.Flows {
		f := &c.Flows[i]
		end, known := f.endUs()
		if !known {
			end = toUs(seconds(f.StartUs) + slack*f.time(c, c.share(f, slowest)))
		}
		us = max(us, end)
	}
	return min((us+graceUs+999_999)/1_000_000*1_000_000, maxTimeUs)
}

// round125 rounds up to 1, 2 or 5 times a power of ten.
func round125(n uint64) uint64 {
	for ten := uint64(1); ten < 1e18; ten *= 10 {
		for _, m := range []uint64{1, 2, 5} {
			if m*ten >= n {
				return m * ten
			}
		}
	}
	return n
}
