package model

import "math"

// CUBIC's window in packets (RFC 9438, sections 4.2 to 4.7; net/ipv4/tcp_cubic.c),
// moved once a round:
//
//	W_cubic(t) = C (t - K)^3 + W_max,  K = cbrt((W_max - cwnd) / C)
//	W_est      = cwnd after the loss + 8/15 a round      the Reno-friendly region
//	at a loss    ssthresh = 0.7 cwnd, at least 2; W_max = cwnd, or 0.85 cwnd if the
//	             window was below the last W_max (fast convergence)
//
// What Linux adds to the RFC: a round grows the window by half of itself at most, and
// while there is no W_max, by a twentieth at least.
const (
	cubicC    = 0.4
	cubicBeta = 0.7
	// friendlyStep: 3 (1-b) / (1+b) = 0.529; Linux rounds it to 8/15 packets a round.
	friendlyStep = 8.0 / 15
	// fastConvergence is (1+b)/2, of a window that did not reach the last one.
	fastConvergence = (1 + cubicBeta) / 2
	// plateauStep is what Linux adds in a round where the cubic is below the window.
	plateauStep = 0.01

	initialWindow = 10 // packets, RFC 6928
	leastWindow   = 2  // packets; ssthresh is never lower
)

type cubicWindow struct {
	cwnd, ssthresh float64
	wmax           float64 // 0: no loss yet, or forgotten at a timeout
	origin, k      float64 // of the epoch
	friendly       float64
	sinceEpoch     float64 // seconds; negative: the next round begins one
}

func newCubicWindow() cubicWindow {
	return cubicWindow{cwnd: initialWindow, ssthresh: math.Inf(1), sinceEpoch: -1}
}

func (w *cubicWindow) slowStart() bool { return w.cwnd < w.ssthresh }

// leave ends slow start without a loss, as HyStart does.
func (w *cubicWindow) leave() { w.ssthresh = w.cwnd }

// grow is a round of rtt seconds in which acked packets were acknowledged.
func (w *cubicWindow) grow(acked, rtt float64) {
	if w.slowStart() {
		w.cwnd = min(w.cwnd+acked, w.ssthresh)
		return
	}
	if w.sinceEpoch < 0 {
		w.beginEpoch()
	}
	w.sinceEpoch += rtt
	share := acked / w.cwnd
	w.friendly += friendlyStep * share
	step := max(w.origin+cubicC*math.Pow(w.sinceEpoch-w.k, 3), w.friendly, w.cwnd+plateauStep) - w.cwnd
	if w.wmax == 0 {
		step = max(step, w.cwnd/20)
	}
	w.cwnd += min(step, w.cwnd/2) * share
}

func (w *cubicWindow) beginEpoch() {
	w.sinceEpoch, w.friendly = 0, w.cwnd
	w.origin = max(w.cwnd, w.wmax)
	w.k = math.Cbrt((w.origin - w.cwnd) / cubicC)
}

// reduce is the answer to a loss; the window comes down to ssthresh.
func (w *cubicWindow) reduce() {
	if w.cwnd < w.wmax {
		w.wmax = w.cwnd * fastConvergence
	} else {
		w.wmax = w.cwnd
	}
	w.ssthresh = max(math.Floor(w.cwnd*cubicBeta), leastWindow)
	w.cwnd = w.ssthresh
	w.sinceEpoch = -1
}

// timeout sends the window back to slow start and forgets W_max.
func (w *cubicWindow) timeout() {
	w.cwnd, w.wmax, w.sinceEpoch = 1, 0, -1
}
