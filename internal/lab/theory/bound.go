package theory

import (
	"math"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// Physical bound of all flows together, in payload bit/s, over the time in which a
// connection is open:
//
//	R(t) = rate x MSS / frame, times (1 - p) where packets are lost behind the bottleneck
//	bytes to send      no earlier than the integral of R reaches them
//	a time to send in  the mean of R over it
//
// and never more than the applications request. A bucket's burst is free, once for each
// connection, since gaps refill it. No transfer takes less than 2 round trips: the
// receiver's request, its answer, the answer's acknowledgement and the way of the first
// byte.

// BoundBitPerS is the physical bound of the cell.
func BoundBitPerS(c *scenario.Cell) float64 {
	w := wantOf(c)
	free := float64(burst(c)) * 8 * pathOf(c).PayloadShare()
	lasts := w.seconds
	if w.bits > 0 {
		lasts = min(lasts, max(timeFor(c, w.bits/w.conns-free), 2*seconds(c.Path.RTTUs)))
		return min(w.bits/w.conns/lasts, w.rate)
	}
	if math.IsInf(lasts, 1) { // one flow has a size, another a duration
		return min(fastest(c), w.rate)
	}
	return min((carried(c, lasts)+free)/lasts, w.rate)
}

// want is the applications' demand.
type want struct {
	bits    float64 // of all flows; 0 where one has no end but time
	conns   float64 // one after another
	seconds float64 // until the last flow ends; +Inf where one ends with its bytes only
	rate    float64 // payload bit/s; +Inf: as fast as it goes
}

func wantOf(c *scenario.Cell) (w want) {
	w.conns = 1
	sized := true
	for i := range c.Flows {
		f := &c.Flows[i]
		n := max(f.Repeat, 1)
		w.bits += float64(f.Bytes) * 8 * float64(n)
		w.conns = max(w.conns, float64(n))
		w.rate += orInf(float64(f.RateBitPerS))
		w.seconds = max(w.seconds, orInf(seconds(f.DurationUs)))
		sized = sized && f.Bytes > 0
	}
	if !sized {
		w.bits = 0
	}
	return w
}

func orInf(x float64) float64 {
	if x == 0 {
		return math.Inf(1)
	}
	return x
}

// burst is the largest bucket on the way, in bytes as tc counts them.
func burst(c *scenario.Cell) uint32 { return max(c.Path.BurstBytes, c.Sender.TbfBurst) }

// boundIn is the path's bound in one of its spans.
func boundIn(c *scenario.Cell, s scenario.Span) (bitPerS float64) {
	p := pathOf(c)
	if s.FromUs >= 0 {
		p.RateBitPerS, p.RTTSeconds, p.Loss = s.RateBitPerS, s.RTTUs/1e6, s.Loss
	}
	return p.BoundBitPerS()
}

func fastest(c *scenario.Cell) (bitPerS float64) {
	for _, s := range c.Path.Spans() {
		bitPerS = max(bitPerS, boundIn(c, s))
	}
	return bitPerS
}

// carried bits of payload until then.
func carried(c *scenario.Cell, until float64) (bits float64) {
	for _, s := range c.Path.Spans() {
		if lasts := min(s.ToUs/1e6, until) - max(s.FromUs/1e6, 0); lasts > 0 {
			bits += boundIn(c, s) * lasts
		}
	}
	return bits
}

// timeFor returns the time for that many bits of payload.
func timeFor(c *scenario.Cell, bits float64) float64 {
	for _, s := range c.Path.Spans() {
		from, rate := max(s.FromUs/1e6, 0), boundIn(c, s)
		if bits <= rate*(s.ToUs/1e6-from) {
			return from + bits/rate
		}
		bits -= rate * (s.ToUs/1e6 - from)
	}
	return math.Inf(1)
}
