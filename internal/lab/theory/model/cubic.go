package model

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// CUBIC round by round: a round sends the window, draws its losses, and lasts a round
// trip with the queue it made.
//
//	flight    retransmissions first, new packets behind them
//	overflow  arrivals - (BDP + buffer)
//	round     max(RTT + burst / rate, arrivals / rate)
//	burst     what goes at once: 1.2 ms of a flight in each round, two packets at least
//	a loss in Open           reduction; Recovery: send again, no growth, no second one
//	a new packet lost in it  the next Recovery, with its own reduction
//	nothing delivered        timeout of RTT + 200 ms, doubled each time, slow start again
//
// The repair depends on which packet of a flight was lost, and a round does not know that.
// So there are two ways of repair, the edges of the band:
//
//	prompt   RACK and TLP (RFC 8985) find whatever a later packet can reveal, and a lost
//	         flight costs a probe first
//	patient  what PFTK assumes: a lost retransmission, or fewer than three packets behind
//	         a loss, cost a timeout; Recovery sends what was delivered, no more (PRR)
//
// Slow start ends at a loss, or as HyStart ends it: with the first queue (prompt), or at
// half the BDP (patient), where a train of acknowledgements can end it.
const (
	// hystartWindow in packets: HyStart sleeps below (hystart_low_window).
	hystartWindow = 16
	// dupThresh is the number of later packets that reveal a loss without waiting.
	dupThresh = 3
	// timerSeconds is the least that Linux waits with a timer of RACK or TLP: two jiffies
	// (TCP_TIMEOUT_MIN), at the 250 Hz of Debian's and Ubuntu's kernels.
	timerSeconds = 2.0 / 250
	// burstSeconds: TCP sends a millisecond of its pacing rate at once (sk_pacing_shift 10,
	// tcp_tso_autosize), which is 1.2 windows a round trip (tcp_pacing_ca_ratio). On a path of
	// 1 ms that is the window, and its own time at the bottleneck adds half to the round trip.
	// leastBurst in packets is tcp_min_tso_segs.
	burstSeconds = 1.2e-3
	leastBurst   = 2
	// endsSeconds is by how much a valid cell's round trip may exceed the configured one,
	// and what the patient edge adds: packets take time in hosts too.
	endsSeconds = 100e-6
	// windowShare of a socket's buffer is payload at worst: the kernel counts a packet's
	// memory as twice its payload (tcp_adv_win_scale 1).
	windowShare = 0.5
	// enoughLosses make a transfer long: after that many slow start is a small part of it,
	// the closed forms hold, and they widen the band if they lie outside.
	enoughLosses = 20

	cubicStream = 1 // of the random numbers
)

// Cubic predicts a connection with CUBIC.
func Cubic(p Path, t Transfer) Band {
	var prompt, patient [runs]float64
	for i := range runs {
		prompt[i] = goodput(p, t, newCubicRun(p, t, i, false))
		patient[i] = goodput(p, t, newCubicRun(p, t, i, true))
	}
	b := newBand(patient[:], prompt[:], p.BoundBitPerS())
	if p.Loss*p.sent(t, b.Expected) >= enoughLosses {
		b.Low = min(b.Low, PFTKBitPerS(p))
		b.High = max(b.High, ResponseBitPerS(p))
	}
	return b
}

// sent is how many packets t has at a rate.
func (p Path) sent(t Transfer, bitPerS float64) float64 {
	bytes := math.Inf(1)
	if t.Bytes > 0 {
		bytes = t.Bytes
	}
	if t.Seconds > 0 {
		bytes = min(bytes, t.Seconds*bitPerS/8)
	}
	return p.packetsOf(bytes)
}

type cubicRun struct {
	Path
	patient bool
	random  *stat.Rand
	win     cubicWindow
	base    float64 // seconds of a round that sends nothing at once

	left, resend float64 // packets: never sent, known as lost
	arrived      float64
	clock        float64 // seconds
	repair       bool    // in Recovery, or after a timeout
	backoff      float64 // of the next timeout
	delivered    float64 // in the last round
}

func newCubicRun(p Path, t Transfer, seed int, patient bool) *cubicRun {
	r := &cubicRun{Path: p, patient: patient, random: stat.NewRand(uint64(seed), cubicStream),
		win: newCubicWindow(), base: p.RTTSeconds, left: math.Inf(1), backoff: 1}
	if t.Bytes > 0 {
		r.left = p.packetsOf(t.Bytes)
	}
	if patient {
		r.base += endsSeconds
		r.WindowPackets *= windowShare
	}
	r.clock = handshake(p, r.random)
	return r
}

func (r *cubicRun) progress() (float64, float64) { return r.arrived, r.clock }

func (r *cubicRun) round() {
	again := min(r.flight(), r.resend)
	fresh := min(r.flight()-again, r.left)
	lostAgain, lostFresh := r.lost(again), r.lost(fresh)
	arrivals := again + fresh
	if !r.LossAfter {
		arrivals -= lostAgain + lostFresh
	}
	if over := math.Floor(arrivals - r.bdp() - r.BufferPackets); over > 0 {
		lostFresh = min(fresh, lostFresh+over)
		arrivals -= over
	}
	lasted := max(r.lasts(again+fresh), arrivals/r.packetsPerS())
	r.clock += lasted
	r.delivered = again + fresh - lostAgain - lostFresh
	r.arrived += r.delivered
	r.left -= fresh
	r.resend += lostAgain + lostFresh - again
	r.react(lostAgain, lostFresh, lasted)
}

// flight is how many packets the round sends.
func (r *cubicRun) flight() float64 {
	f := r.win.cwnd
	if r.WindowPackets > 0 {
		f = min(f, r.WindowPackets)
	}
	if r.patient && r.repair && !r.win.slowStart() {
		f = min(f, r.delivered)
	}
	return max(math.Floor(f), 1)
}

// lasts is the time of a round without a queue: the root of
// T = RTT + burst / rate with burst = flight x 1.2 ms / T.
func (r *cubicRun) lasts(flight float64) float64 {
	half := r.base / 2
	t := half + math.Sqrt(half*half+burstSeconds*flight/r.packetsPerS())
	return max(t, r.base+min(flight, leastBurst)/r.packetsPerS())
}

func (r *cubicRun) lost(n float64) float64 { return float64(losses(r.random, int(n), r.Loss)) }

// react is the sender's reaction to the acknowledgements.
func (r *cubicRun) react(lostAgain, lostFresh, lasted float64) {
	if r.delivered == 0 {
		r.silence()
		return
	}
	r.backoff = 1
	switch few := lostFresh > 0 && r.delivered < dupThresh; {
	case r.patient && (lostAgain > 0 || few):
		r.timeout()
	case lostFresh > 0 && (!r.repair || r.resend == lostFresh):
		if few && !r.repair {
			r.clock += timerSeconds
		}
		r.win.reduce()
		r.repair = true
	case !r.repair || r.win.slowStart():
		r.win.grow(r.delivered, lasted)
		r.hystart()
	}
	r.repair = r.repair && r.resend > 0
}

func (r *cubicRun) hystart() {
	full := r.bdp()
	if r.patient {
		full /= 2
	}
	if r.win.slowStart() && r.win.cwnd > max(full, hystartWindow) {
		r.win.leave()
	}
}

// silence: no packet of the flight arrived. A probe goes after two round trips and a
// tick, unless Recovery has begun; if that is lost too, only the timeout is left.
func (r *cubicRun) silence() {
	if r.patient || r.repair {
		r.timeout()
		return
	}
	r.clock += 2*r.base + timerSeconds
	if r.lost(1) > 0 {
		r.timeout()
		return
	}
	r.arrived++
	r.resend--
	r.win.reduce()
	r.repair = r.resend > 0
}

// timeout: the round that has passed was the first part of the wait.
func (r *cubicRun) timeout() {
	r.clock += (r.base+rtoMinSeconds)*r.backoff - r.base
	r.backoff *= 2
	if !r.repair {
		r.win.reduce()
	}
	r.win.timeout()
	r.repair = true
}
