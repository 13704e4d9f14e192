package scenario

import (
	"maps"
	"math"
	"slices"
)

const (
	maxBuffer = 1_000_000 // packets: netem's own use of "no limit"
	noProbe   = math.MaxUint64
	// maxSocket is the largest window that TCP can tell (RFC 7323: 2^14 x 65535).
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
	if p.Loss.At == "" && !c.loses() {
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

// loses tells whether packets towards the receiver are ever lost at random.
func (c *Cell) loses() bool {
	inStep := func(s Step) bool { return s.LossPPM > 0 }
	l := c.Path.Loss
	return l.PPM > 0 || l.Gilbert != nil || slices.ContainsFunc(c.Path.Schedule, inStep)
}

// defaultBurst: what a millisecond brings, as small as two packets and as large as a
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

// resolveSockets keeps sockets out of the way: 8 BDP for a window that doubles, for
// what the kernel counts on top of each packet and for what waits out of order at 16 %
// loss, four times the queue, and 4 MiB for short paths.
func (c *Cell) resolveSockets() {
	rate, rtt := c.Path.largest()
	queue := uint64(c.Path.BufferPacket) * uint64(c.Path.MTU+ethernet)
	enough := min(8*min(bdp(rate, rtt), maxSocket)+4*queue+4<<20, maxSocket)
	if c.Sender.SndbufBytes == 0 {
		c.Sender.SndbufBytes = enough
	}
	if c.Sender.RcvbufBytes == 0 {
		c.Sender.RcvbufBytes = enough
	}
}
