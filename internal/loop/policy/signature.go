package policy

import (
	"fmt"
	"math"
)

// Class is what holds a prefix back under the default congestion control, as its control
// connections show it. Selection by benefit rests on it (benefit.go).
type Class string

const (
	ClassSingle  Class = "single"  // losses one by one hold CUBIC down; the queue is empty
	ClassMixed   Class = "mixed"   // some of them one by one
	ClassBursts  Class = "bursts"  // a short buffer overflows
	ClassPolicer Class = "policer" // a rate limit drops what is above it (see policed)
	ClassQueue   Class = "queue"   // losses with a queue: the path is full
	ClassClean   Class = "clean"   // losses do not slow it
)

// Classes lists all classes. Their order is that of numbers in histories.
var Classes = []Class{ClassSingle, ClassMixed, ClassBursts, ClassPolicer, ClassQueue, ClassClean}

// Signature is a class and what it was told by. Its idea is the loss response of CUBIC read
// backwards: losses that come one by one hold it at W1 packets in flight and leave the queue
// empty; if it overfills the path the same share comes in bursts, and far more is in flight.
//
//	lambda = W / W1 (see burst),   queue = srtt / min_rtt - 1
//
// Where the path's rate is the limit, connections all have that rate; where chance decides which
// packet is lost, their rates differ. So equal rates (v, the variance of their logarithms, small) tell
// a full path by a shorter queue, and bursts by a smaller lambda. Of clients with different access they
// are never equal, and the limits are those of queue and lambda alone.
type Signature struct {
	Class    Class   `json:"class"`
	InFlight float64 `json:"in_flight_packets"`             // W
	Single   float64 `json:"single_loss_packets,omitempty"` // W1; 0 without any loss
	Queue    float64 `json:"queue"`                         // 0.5: srtt is 1.5 x min_rtt

	Conns         int     `json:"connections"`      // eligible control connections of the past (past.go), and of them:
	RateBytesPerS float64 `json:"rate_bytes_per_s"` // geometric mean
	MinRTTUs      float64 `json:"min_rtt_us"`       // mean of the windows' medians, by connections
	SRTTUs        float64 `json:"srtt_us"`          // the same
	RetransShare  float64 `json:"retrans_share"`    // by bytes
	RateVar       float64 `json:"log_rate_variance"`

	// Episode is how many packets were retransmitted each time that a connection entered loss recovery;
	// 0 where that is not known. It decides nothing: lambda grows with its root already (docs/policy.md).
	Episode float64 `json:"packets_per_episode,omitempty"`
}

// Limits of the classes, set by eye on 115 paths of the lab (docs/policy.md, "Signature"). On 40
// other paths, drawn at random, 10 of the 11 that they call single gained more than 1.2 times.
const (
	signatureConns  = 10    // connections; a share of losses over fewer is chance
	cleanBelow      = 0.003 // retransmitted share
	queueFrom       = 0.3   // of min_rtt
	singleUpTo      = 2.5   // lambda
	burstsAbove     = 7     // lambda
	equalBelow      = 0.06  // variance of ln rate: a quarter, as a standard deviation
	equalQueueFrom  = 0.15  // of min_rtt, of equal rates
	roundedToPacket = 10    // packets are printed to a tenth
)

// signature completes a Signature from its measurements; nil if they do not tell.
func signature(s Signature) *Signature {
	if s.Conns < signatureConns || s.MinRTTUs == 0 || s.SRTTUs == 0 {
		return nil
	}
	queue, lambda := s.SRTTUs/s.MinRTTUs-1, burst(s.RateBytesPerS, s.SRTTUs, s.RetransShare)
	s.Class, s.InFlight, s.Queue = classOf(s.RetransShare, queue, lambda, s.RateVar), tenth(inFlight(s.RateBytesPerS, s.SRTTUs)), math.Round(100*queue)/100
	if s.RetransShare > 0 {
		s.Single = tenth(singleLosses(s.SRTTUs, s.RetransShare))
	}
	return &s
}

func classOf(again, queue, lambda, variance float64) Class {
	equal := below(variance, equalBelow)
	switch {
	case below(again, cleanBelow):
		return ClassClean
	case queue >= queueFrom, equal && queue >= equalQueueFrom:
		return ClassQueue
	case lambda <= singleUpTo:
		return ClassSingle
	case lambda > burstsAbove, equal:
		return ClassBursts
	}
	return ClassMixed
}

func tenth(packets float64) float64 { return math.Round(packets*roundedToPacket) / roundedToPacket }

// gains are what a switch to BBR at 100 kB did to goodput on the lab's paths of a class:
// median, least and most, responses of 0.15 to 3 MB (docs/policy.md, "Signature").
var gains = map[Class]struct {
	paths               int
	median, least, most float64
}{
	ClassSingle: {23, 2.4, 1.0, 7.8},
	ClassMixed:  {13, 1.12, 1.0, 3.9}, ClassBursts: {20, 1.0, 0.96, 1.03}, ClassPolicer: {7, 1.0, 1.0, 1.03},
	ClassQueue: {21, 1.0, 0.97, 1.25}, ClassClean: {28, 1.0, 1.0, 1.18},
}

// signature returns what slows a prefix, with its guards' evidence; nil if its past does not tell.
func (e *Engine) signature(t *track, p Pool) *Signature {
	s := t.signature(e.now, e.rules)
	if s != nil && e.policed(p) {
		s.Class = ClassPolicer
	}
	return s
}

// signatureText is a Signature in one line.
func signatureText(s *Signature, r Rules) string {
	if s == nil {
		return fmt.Sprintf("not known: fewer than %d eligible control connections with a round-trip time in the last %s",
			signatureConns, durationText(r.PastSeconds()))
	}
	return fmt.Sprintf("%s: %s; %s", s.Class, s.causeText(), labText(s.Class))
}

func labText(c Class) string {
	g := gains[c]
	return fmt.Sprintf("BBR gained x %.2f (%.2f to %.2f) on %d such paths of the lab", g.median, g.least, g.most, g.paths)
}

func (s *Signature) causeText() string {
	resent := percent(s.RetransShare, 1) + " retransmitted"
	flight := fmt.Sprintf("%.1f packets in flight where single losses leave %.1f", s.InFlight, s.Single)
	size, equal := "", ""
	if s.Episode > 0 {
		size = fmt.Sprintf(" of %.1f packets", s.Episode)
	}
	if below(s.RateVar, equalBelow) {
		equal = ", connections get equal rates"
	}
	switch s.Class {
	case ClassSingle:
		return fmt.Sprintf("single losses of %s at %s hold CUBIC to %.2f Mbit/s (%s)", percent(s.RetransShare, 1), millis(s.SRTTUs), s.RateBytesPerS*8/1e6, flight)
	case ClassMixed:
		return fmt.Sprintf("%s, but partly in bursts%s (%s)", resent, size, flight)
	case ClassBursts:
		return fmt.Sprintf("%s, but in bursts%s%s: a buffer overflows (%s)", resent, size, equal, flight)
	case ClassPolicer:
		return fmt.Sprintf("%s, but in bursts%s, at a flat rate: a policer drops what is above it (%s)", resent, size, flight)
	case ClassQueue:
		return fmt.Sprintf("%s%s, and srtt is %.1f x min_rtt: the path is full", resent, equal, 1+s.Queue)
	}
	return resent + ", too little to slow it"
}
