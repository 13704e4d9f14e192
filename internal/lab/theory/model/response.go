package model

import "math"

// Response functions: the mean window, or rate, of a long transfer under independent
// loss p. They are closed and know neither slow start nor a queue.
//
//	Reno   W = sqrt(3/2 / p)                                 Mathis et al., CCR 27(3), 1997
//	CUBIC  W = (C (3+b) / 4(1-b))^1/4 x (RTT / p)^3/4        RFC 9438, section 5.1
//	           = 1.0538 (RTT / p)^3/4 with C = 0.4, b = 0.7
//	PFTK   B = 1 / (RTT sqrt(2p/3) + T0 min(1, 3 sqrt(3p/8)) p (1 + 32 p^2))
//	           Padhye et al., SIGCOMM 1998, eq. 32, an acknowledgement for each packet
//
// CUBIC never falls below Reno (its Reno-friendly region), so its response is the
// larger window. PFTK adds the timeouts, which rule from 8 % on: Linux waits
// T0 = RTT + 200 ms, and finds most losses without waiting (RACK, TLP), so it lies
// between PFTK and the response.

// rtoMinSeconds is the least variance of the round trip time in Linux's retransmission
// timer (TCP_RTO_MIN, include/net/tcp.h).
const rtoMinSeconds = 0.2

// RenoWindow in packets.
func RenoWindow(loss float64) float64 { return math.Sqrt(1.5 / loss) }

// CubicWindow in packets, the Reno-friendly region left out.
func CubicWindow(loss, rttSeconds float64) float64 {
	return math.Pow(cubicC*(3+cubicBeta)/4/(1-cubicBeta), 0.25) * math.Pow(rttSeconds/loss, 0.75)
}

// ResponseBitPerS is RFC 9438's CUBIC on p, no higher than the bound.
func ResponseBitPerS(p Path) float64 {
	w := max(RenoWindow(p.Loss), CubicWindow(p.Loss, p.RTTSeconds))
	return min(p.payload(w)/p.RTTSeconds, p.BoundBitPerS())
}

// PFTKBitPerS is Reno with timeouts on p, no higher than the bound.
func PFTKBitPerS(p Path) float64 {
	wait := p.RTTSeconds + rtoMinSeconds
	timeouts := wait * min(1, 3*math.Sqrt(3*p.Loss/8)) * p.Loss * (1 + 32*p.Loss*p.Loss)
	return min(p.payload(1)/(p.RTTSeconds*math.Sqrt(2*p.Loss/3)+timeouts), p.BoundBitPerS())
}
