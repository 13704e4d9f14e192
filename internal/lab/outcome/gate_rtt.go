package outcome

import (
	"fmt"

	"github.com/congctl/congctl/internal/tcp/stat"
)

const (
	rttShare  = 0.01 // of the asked RTT: a fifth of a difference that counts
	rttWithin = 100  // us: what the stacks of four hops take, at short RTTs
)

// idleRTT: before the first flow the path is as long as configured. It uses the median of
// the idle probes, since with jitter the smallest one is too short. A netem bottleneck
// sends the probe bit by bit, a token bucket at once: the expected time may be longer by
// the time of the probe's frame at the path's rate.
func idleRTT(v *view) Gate {
	asked := float64(v.c.Path.RTTUs)
	within := max(rttShare*asked, rttWithin) + float64(v.c.Path.JitterUs)
	var serial float64
	if rate := v.c.Path.RateBitPerS; rate > 0 {
		serial = float64(v.r.ProbeBytes) * 8e6 / float64(rate)
	}
	low, high := max(asked-within, 0), asked+serial+within
	g := Gate{Got: "no idle probe came back", Want: fmt.Sprintf("%s to %s (%s of serialisation)", micros(low), micros(high), micros(serial)),
		Why: "no probe crossed the idle path: are both directions up?"}
	seen := replies(v.r.Idle)
	if len(seen) == 0 {
		return g
	}
	got := stat.Median(seen)
	g.OK, g.Got, g.Why = got >= low && got <= high, micros(got), whyRTT(got, asked)
	return g
}

func whyRTT(got, asked float64) string {
	switch ratio := got / asked; {
	case near(ratio, 0.5):
		return "half of the RTT: only one direction has a delay; each direction needs half of the RTT"
	case near(ratio, 2):
		return "twice the RTT: each direction has all of it; each needs half"
	case near(ratio, 1e-3), near(ratio, 1e3), near(ratio, 5e-4), near(ratio, 2e3):
		return "off by a thousand: tc takes a bare number for microseconds, netlink for ticks or nanoseconds"
	case ratio > 1:
		return "something else adds delay: a queue that does not drain, a busy CPU, or two delays on the path"
	}
	return "delay is missing on the path: is netem on both links of wan?"
}

// near allows a fifth: enough to recognise a mistake of unit or count with everything else
// that adds to it, and no two of them are that close.
func near(ratio, to float64) bool { return ratio > 0.8*to && ratio < 1.25*to }

// replies are the round trips of the probes that came back, in us.
func replies(probes []Probe) (us []float64) {
	for _, p := range probes {
		if p.RTTUs > 0 {
			us = append(us, float64(p.RTTUs))
		}
	}
	return us
}
