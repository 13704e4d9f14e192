package scenario

import (
	"maps"
	"math"
	"slices"
)

const (
	maxBuffer = 1_000_000 // packets: netem's own use of "no limit"
	noProbe   = math.MaxUint64
	// maxSocket is the largest window that TCP can announce (RFC 7323: 2^14 x 65535).
	maxSocket = 1 << 30
)

// resolve fills in every default.
func (d *draft) resolve(name string, arm Arm, at []AxisValue) Cell {
	c := d.cell
	c.ID, c.Arm = id(name, at, arm), arm
	c.Axes = append([]AxisValue{}, at...)
	c.Sysctls = maps.Clone(d.cell.Sysctls)
	c.Flows = nil
	for _, f := range d.flows {
		c.Flows = append(c.Flows, f.resolved(arm)...)
	}
	c.Sender.Qdisc = arm.Qdisc
	d.resolvePath(&c)
	d.resolveTbf(&c)
	c.resolveSockets()
	c.resolveMeasure()
	c.Seeds = c.Seeds.complete()
	return c
}

func (s Seeds) complete() Seeds {
	s.Max = max(s.Max, s.Count)
	return s
}

func (d *draft) resolvePath(c *Cell) {
	p := &c.Path
	end, _ := c.lastEnd()
	p.Schedule = d.schedule.resolve(p, end)
	if rate, _ := p.largest(); shaped(p.Bottleneck) && p.BurstBytes == 0 {
		p.BurstBytes = defaultBurst(rate, p.MTU)
	}
	if p.Bottleneck == Netem {
		p.BurstBytes = 0 // it has no bucket
	}
	if p.Bottleneck != Policer { // it has no queue
		p.BufferPacket = uint32(min(d.buffer.packets(p), maxBuffer+1))
	}
	if p.Loss.At == "" && !p.Loses() {
		p.Loss.At = LossAfter // of nothing
	}
}

// largest rate and round trip of the path's life.
func (p *Path) largest() (rate, rttUs uint64) {
	rate, rttUs = p.RateBitPerS, p.RTTUs
	for _, s := range p.Schedule {
		rate, rttUs = max(rate, s.RateBitPerS), max(rttUs, s.RTTUs)
	}
	return rate, rttUs
}

// defaultBurst returns a millisecond's worth, at least two packets and at most a
// super-packet. Smaller costs rate, larger lets whole trains through at line rate.
func defaultBurst(rate uint64, mtu uint32) uint32 {
	return uint32(min(max(2*uint64(mtu+ethernet), bdp(rate, 1000)), 64<<10))
}

// resolveTbf takes tc's rules for the sender's tbf: limit = rate x latency + burst.
func (d *draft) resolveTbf(c *Cell) {
	s := &c.Sender
	if s.Qdisc != "tbf" {
		s.TbfBitPerS, s.TbfBurst, s.TbfLimit = 0, 0, 0
		return
	}
	if s.TbfBurst == 0 {
		s.TbfBurst = defaultBurst(s.TbfBitPerS, c.Path.MTU)
	}
	limit := d.tbfLimit.n
	if d.tbfLimit.unit == "us" {
		limit = bdp(s.TbfBitPerS, d.tbfLimit.n) + uint64(s.TbfBurst)
	}
	s.TbfLimit = uint32(min(limit, math.MaxUint32))
}

// resolveSockets makes sockets large enough not to matter: 8 BDP for a window that
// doubles, for the kernel's overhead per packet and for packets out of order at 16 % loss,
// four times the queue, and 4 MiB for short paths.
func (c *Cell) resolveSockets() {
	rate, rtt := c.Path.largest()
	rtt = slices.Max(append(c.RTTs(), rtt))
	queue := uint64(c.Path.BufferPacket) * uint64(c.Path.MTU+ethernet)
	enough := min(8*min(bdp(rate, rtt), maxSocket)+4*queue+4<<20, maxSocket)
	if c.Sender.SndbufBytes == 0 {
		c.Sender.SndbufBytes = enough
	}
	if c.Sender.RcvbufBytes == 0 {
		c.Sender.RcvbufBytes = enough
	}
}

const (
	// samples of a cell at most: enough for a plot as wide as a page.
	samples = 600
	// Sampling finer than a millisecond would cost the guest more than the traffic;
	// coarser than a second would miss whole cycles of BBR.
	minSampleUs, maxSampleUs = 1_000, 1_000_000
	// probeFrame is a probe's size on the link, in bytes, and probeShare the part of the
	// link that probes may take, in thousandths.
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
		c.SampleUs = min(max(round125(c.ends(likely)/samples), minSampleUs), maxSampleUs)
	}
	switch c.ProbeUs {
	case noProbe:
		c.ProbeUs = 0
	case 0:
		sparse := mulDiv(probeFrame*8*1000*1e6, 1, probeShare*max(c.Path.RateBitPerS, 1))
		c.ProbeUs = max(c.SampleUs, round125(sparse))
	}
	if c.WarmUpUs == 0 {
		longest := slices.Max(append(c.RTTs(), c.Path.RTTUs))
		c.WarmUpUs = min(warmRounds*min(longest, maxTimeUs), c.ends(fastest)/3)
	}
	if c.LimitUs == 0 {
		c.LimitUs = c.latest()
	}
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
