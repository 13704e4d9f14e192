package scenario

import (
	"math"
	"strings"
)

// How long a cell is likely to take, from textbook rates. It serves defaults (sampling
// interval, time limit) and what shipped scenarios may take, never a verdict: theory has the models.
//
//	cap     = rate x MSS / frame
//	high    = MSS / RTT x max(sqrt(1.5 / p), 1.0538 (RTT / p)^(3/4))   Reno, CUBIC (RFC 9438, 5.1)
//	low     = MSS / (RTT sqrt(2p/3) + (RTT + 200 ms) min(1, 3 sqrt(3p/8)) p (1 + 32 p^2))
//	                                                         Padhye et al., SIGCOMM 1998
//	BBR     = cap (1 - p), a third of it where the policer detector strikes
//
// each shared evenly among the flows.

// Cost is what one run of a cell is likely to take.
type Cost struct {
	VirtualUs uint64 // until the last flow ends
	Packets   uint64 // of data, sent again included
}

// Cost estimates c.
func (c *Cell) Cost() Cost {
	p := c.Path.Loss.MeanPPM() / ppm
	frames := 0.0
	for i := range c.Flows {
		f := &c.Flows[i]
		rate := c.share(f, likely)
		sent := rate * f.time(c, rate) / 8
		if f.Bytes > 0 {
			sent = min(sent, float64(f.Bytes)*float64(max(f.Repeat, 1)))
		}
		frames += sent / c.mss() / (1 - min(p, 0.9))
	}
	return Cost{c.ends(likely), uint64(frames)}
}

// ends is when the last flow ends, in us, if each goes as the outlook says.
func (c *Cell) ends(o outlook) (us uint64) {
	for i := range c.Flows {
		f := &c.Flows[i]
		us = max(us, toUs(seconds(f.StartUs)+f.time(c, c.share(f, o))))
	}
	return us
}

type outlook int

const (
	slowest outlook = iota
	likely
	fastest
)

func (c *Cell) mss() float64 { return float64(c.Path.MTU) - 52 } // IPv4, TCP with timestamps

// share is the payload rate of f in bit/s.
func (c *Cell) share(f *Flow, o outlook) float64 {
	link := c.meanRate()
	if c.Sender.TbfBitPerS > 0 {
		link = min(link, float64(c.Sender.TbfBitPerS))
	}
	rate := link * c.mss() / float64(c.Path.MTU+ethernet) / float64(len(c.Flows))
	rate = min(rate, c.response(f.Cong, o))
	if f.RateBitPerS > 0 {
		rate = min(rate, float64(f.RateBitPerS))
	}
	return max(rate, 1)
}

// response to loss alone, in bit/s.
func (c *Cell) response(cong string, o outlook) float64 {
	p := c.Path.Loss.MeanPPM() / ppm
	if p == 0 || o == fastest {
		return math.Inf(1)
	}
	if strings.HasPrefix(cong, "bbr") {
		link := c.meanRate() * (1 - p)
		if o == slowest {
			link /= 3
		}
		return link
	}
	rtt := max(seconds(c.Path.RTTUs), 1e-3) // ends and timers take about a millisecond
	high := max(math.Sqrt(1.5/p), 1.0538*math.Pow(rtt/p, 0.75)) / rtt
	low := 1 / (rtt*math.Sqrt(2*p/3) + (rtt+0.2)*min(1, 3*math.Sqrt(3*p/8))*p*(1+32*p*p))
	packets := low
	if o == likely {
		packets = math.Sqrt(low * high)
	}
	return packets * c.mss() * 8
}

// meanRate of the link until the last flow ends.
func (c *Cell) meanRate() float64 {
	end, known := c.lastEnd()
	if !known || len(c.Path.Schedule) == 0 || end == 0 {
		return float64(c.Path.RateBitPerS)
	}
	return c.Path.Capacity(0, float64(end)) / float64(end)
}

// time that f takes at rate, in seconds: per connection a handshake, the rounds of slow
// start, and its bytes.
func (f *Flow) time(c *Cell, rate float64) float64 {
	n, each := float64(max(f.Repeat, 1)), seconds(f.DurationUs)
	if f.Bytes > 0 {
		rounds := 2 + math.Log2(1+float64(f.Bytes)/(initialWindow*c.mss()))
		each = rounds*seconds(max(c.Path.RTTUs, f.RTTUs)) + 8*float64(f.Bytes)/rate
		if f.DurationUs > 0 {
			each = min(each, seconds(f.DurationUs))
		}
	}
	return n*each + (n-1)*seconds(f.GapUs)
}

// endUs is when f has surely ended; known is false without a duration.
func (f *Flow) endUs() (us uint64, known bool) {
	n := uint64(max(f.Repeat, 1))
	return f.StartUs + n*f.DurationUs + (n-1)*f.GapUs, f.DurationUs > 0
}

// lastEnd is when the last flow has surely ended; known is false where one has no
// duration.
func (c *Cell) lastEnd() (us uint64, known bool) {
	known = true
	for i := range c.Flows {
		end, sure := c.Flows[i].endUs()
		us, known = max(us, end), known && sure
	}
	return us, known
}

func seconds(us uint64) float64 { return float64(us) / 1e6 }

func toUs(s float64) uint64 { return uint64(min(s*1e6, maxTimeUs)) }
