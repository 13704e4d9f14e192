package policy

import (
	"fmt"
	"math"
)

// Class is what holds a prefix back under the default congestion control, as its control
// connections show it. Nothing is decided by it yet.
type Class string

const (
	ClassSingle Class = "single" // losses one by one hold CUBIC down; the queue is empty
	ClassMixed  Class = "mixed"  // some of them one by one
	ClassBursts Class = "bursts" // a short buffer or a policer overflows
	ClassQueue  Class = "queue"  // losses with a queue: the path is full
	ClassClean  Class = "clean"  // losses do not slow it
)

// Signature is a class and what it was told by. Its idea is the loss response of CUBIC read
// backwards: losses that come one by one hold it at W1 packets in flight and leave the queue
// empty; if it overfills the path the same share comes in bursts, and far more is in flight.
//
//	lambda = W / W1 (see burst),   queue = srtt / min_rtt - 1
type Signature struct {
	Class    Class   `json:"class"`
	InFlight float64 `json:"in_flight_packets"`             // W
	Single   float64 `json:"single_loss_packets,omitempty"` // W1; 0 without any loss
	Queue    float64 `json:"queue"`                         // 0.5: srtt is 1.5 x min_rtt
}

// Limits of the classes, set by eye on 115 paths of the lab (docs/policy.md, "Signature"). On 40
// other paths, drawn at random, 10 of the 11 that they call single gained more than 1.2 times.
const (
	signatureConns  = 10    // connections; a share of losses over fewer is chance
	cleanBelow      = 0.003 // retransmitted share
	queueFrom       = 0.3   // of min_rtt
	singleUpTo      = 2.5   // lambda
	burstsAbove     = 7     // lambda
	roundedToPacket = 10    // packets are printed to a tenth
)

// signature returns nil if the pool does not tell.
func (p Pool) signature() *Signature {
	if p.Conns < signatureConns || p.MinRTTUs == 0 || p.SRTTUs == 0 {
		return nil
	}
	w := inFlight(p.RateBytesPerS, p.SRTTUs)
	s := &Signature{Class: ClassMixed, InFlight: tenth(w), Queue: math.Round(100*(p.SRTTUs/p.MinRTTUs-1)) / 100}
	if p.RetransShare > 0 {
		s.Single = tenth(singleLosses(p.SRTTUs, p.RetransShare))
	}
	switch {
	case below(p.RetransShare, cleanBelow):
		s.Class = ClassClean
	case p.SRTTUs/p.MinRTTUs-1 >= queueFrom:
		s.Class = ClassQueue
	case p.Burst <= singleUpTo:
		s.Class = ClassSingle
	case p.Burst > burstsAbove:
		s.Class = ClassBursts
	}
	return s
}

func tenth(packets float64) float64 { return math.Round(packets*roundedToPacket) / roundedToPacket }

// gains are what a switch to BBR at 100 kB did to goodput on the lab's paths of a class:
// median, least and most, responses of 0.15 to 3 MB (docs/policy.md, "Signature").
var gains = map[Class]struct {
	paths               int
	median, least, most float64
}{
	ClassSingle: {23, 2.4, 1.0, 7.8},
	ClassMixed:  {14, 1.08, 1.0, 3.9},
	ClassBursts: {26, 1.0, 0.96, 1.03},
	ClassQueue:  {21, 1.0, 0.97, 1.25},
	ClassClean:  {28, 1.0, 1.0, 1.18},
}

// signatureText is a Signature in one line, p being what it was read from.
func signatureText(s *Signature, p Pool, lookback int64) string {
	if s == nil {
		return fmt.Sprintf("not known: fewer than %d eligible control connections with a round-trip time in the last %s",
			signatureConns, durationText(lookback))
	}
	g := gains[s.Class]
	return fmt.Sprintf("%s: %s; BBR gained x %.2f (%.2f to %.2f) on %d such paths of the lab",
		s.Class, s.causeText(p), g.median, g.least, g.most, g.paths)
}

func (s *Signature) causeText(p Pool) string {
	resent := percent(p.RetransShare, 1) + " retransmitted"
	flight := fmt.Sprintf("%.1f packets in flight where single losses leave %.1f", s.InFlight, s.Single)
	switch s.Class {
	case ClassSingle:
		return fmt.Sprintf("%s, one by one, at %s: %s", resent, millis(p.SRTTUs), flight)
	case ClassMixed:
		return fmt.Sprintf("%s, partly in bursts: %s", resent, flight)
	case ClassBursts:
		return fmt.Sprintf("%s, in bursts, as a buffer overflows: %s", resent, flight)
	case ClassQueue:
		return fmt.Sprintf("%s, and srtt is %.1f x min_rtt, so the path is full", resent, 1+s.Queue)
	}
	return resent + ", too little to slow it"
}
