package model

import "math"

// Physical bound of payload, by where packets are lost:
//
//	cap    = R x MSS / frame
//	before = cap            the sender may send more than the link takes
//	after  = cap x (1 - p)  what the link carried is lost behind it
//
// tc counts a frame as the IP packet and 14 bytes of Ethernet: with an MTU of 1500 and
// timestamps cap = R x 1448/1514.

const (
	// ethernetBytes are what tc counts above the MTU: no preamble, no checksum.
	ethernetBytes = 14
	// headerBytes are IPv4 (20), TCP (20) and the timestamp option (12).
	headerBytes = 52
)

// Path is a network as the models see it.
type Path struct {
	RateBitPerS   float64 // of the bottleneck, on bytes as tc counts them
	RTTSeconds    float64 // without any queue
	Loss          float64 // share of the packets towards the receiver, independent
	LossAfter     bool    // behind the bottleneck
	MTUBytes      float64
	BufferPackets float64 // queue of the bottleneck
	WindowPackets float64 // most that the hosts' buffers let fly, half of it at worst; 0: no limit
}

// Transfer ends after Bytes or after Seconds, whichever comes first; 0 is no end.
type Transfer struct {
	Bytes   float64
	Seconds float64
}

// Band is the range of one run, in payload bit/s: Low and High are the edges, Expected the
// mean if everything works as Linux intends.
type Band struct{ Low, Expected, High float64 }

// MSSBytes is the payload of a full packet, FrameBytes its size as tc counts it.
func (p Path) MSSBytes() float64 { return p.MTUBytes - headerBytes }

func (p Path) FrameBytes() float64 { return p.MTUBytes + ethernetBytes }

// PayloadShare of what passes the bottleneck.
func (p Path) PayloadShare() float64 { return p.MSSBytes() / p.FrameBytes() }

// CapBitPerS is the payload that the bottleneck can carry.
func (p Path) CapBitPerS() float64 { return p.RateBitPerS * p.PayloadShare() }

// BoundBitPerS is the payload that can reach the receiver at all.
func (p Path) BoundBitPerS() float64 {
	bound := p.CapBitPerS()
	if p.LossAfter {
		bound *= 1 - p.Loss
	}
	return min(bound, p.windowBitPerS())
}

// windowBitPerS is one window in each round trip.
func (p Path) windowBitPerS() float64 {
	if p.WindowPackets == 0 || p.RTTSeconds == 0 {
		return math.Inf(1)
	}
	return p.payload(p.WindowPackets) / p.RTTSeconds
}

// payload of n packets, in bits.
func (p Path) payload(n float64) float64 { return n * p.MSSBytes() * 8 }

// packetsOf returns the packets for that many bytes.
func (p Path) packetsOf(bytes float64) float64 { return math.Ceil(bytes / p.MSSBytes()) }

// packetsPerS is the bottleneck's rate.
func (p Path) packetsPerS() float64 { return p.RateBitPerS / 8 / p.FrameBytes() }

// roundSeconds is the least time between a packet and its acknowledgement: the round
// trip and the packet's own time at the bottleneck.
func (p Path) roundSeconds() float64 { return p.RTTSeconds + 1/p.packetsPerS() }

// bdp is what fills the path without a queue, in packets.
func (p Path) bdp() float64 { return p.packetsPerS() * p.roundSeconds() }
