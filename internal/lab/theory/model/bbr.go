package model

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// BBRv1 as a fluid with lumps: rates are shares of the bottleneck's, a round is one
// round trip, and only losses are whole packets, because their noise decides two things,
// the maximum that the filter remembers and the policer detector.
//
//	offered   = gain x 0.99 x bw
//	out       = min(1, arrivals + queue)           queue carried over to the next round
//	delivered = out before which packets were lost, or out less the lost behind it
//	bw        = max(delivered) over 10 rounds
//
// Gains: 2/ln 2 in STARTUP until three rounds brought less than a quarter more, its
// inverse in DRAIN until the queue is gone, then 1.25, 0.75 and six times 1. Without noise:
//
//	probing lifts bw while 1.25 x 0.99 x (1-p) >= 1:  p <= 19.2 %, beyond it bw decays
//	loss before:  about (1 + 6 x 0.99 (1-p) + what 0.75 and the queue give) / 8
//	loss after:   (1-p) times that
//
// Sources: net/ipv4/tcp_bbr.c (6.1); Cardwell et al., "BBR: Congestion-Based Congestion
// Control", ACM Queue 14(5), 2016; bbr_policer.go for the detector.
//
// The edges: prompt grows by what is delivered in every round of STARTUP, needs no
// PROBE_RTT, and its samples count a packet too many, as those of a burst do. Patient
// holds the window in each round after a loss (Recovery begins with packet conservation),
// needs PROBE_RTT every ten seconds, and waits for the last retransmissions.
const (
	bbrHighGain = 2885.0 / 1000 // bbr_high_gain, 2/ln 2
	bbrMargin   = 0.99          // bbr_pacing_margin_percent: pace 1 % below bw
	bbrFilter   = 10            // rounds that bw is remembered (bbr_bw_rtts)
	bbrFullGain = 1.25          // growth that keeps STARTUP going (bbr_full_bw_thresh)
	bbrFullTurn = 3             // rounds without it that end STARTUP (bbr_full_bw_cnt)

	probeRTTEvery   = 10.0 // seconds (bbr_min_rtt_win_sec)
	probeRTTSeconds = 0.2  // at least (bbr_probe_rtt_mode_ms), and a round
	probeRTTWindow  = 4    // packets meanwhile (bbr_cwnd_min_target)

	bbrStream = 2 // of the random numbers
)

var bbrGains = [...]float64{1.25, 0.75, 1, 1, 1, 1, 1, 1}

// BBR predicts a connection with BBRv1.
func BBR(p Path, t Transfer) Band {
	var prompt, patient [runs]float64
	for i := range runs {
		prompt[i] = goodput(p, t, newBBRRun(p, i, false))
		patient[i] = probeRTT(p, t, goodput(p, t, newBBRRun(p, i, true)))
	}
	return newBand(patient[:], prompt[:], p.BoundBitPerS())
}

// probeRTT takes the pauses of PROBE_RTT from a rate: each sends four packets a round
// for 200 ms and a round.
func probeRTT(p Path, t Transfer, rate float64) float64 {
	pause := (probeRTTSeconds + p.roundSeconds()) * max(0, 1-probeRTTWindow/p.bdp())
	every := probeRTTEvery + pause
	lasts := p.payload(p.sent(t, rate)) / rate
	if math.IsInf(lasts, 1) {
		return rate * (1 - pause/every)
	}
	return rate * lasts / (lasts + pause*math.Floor(lasts/probeRTTEvery))
}

type bbrRun struct {
	Path
	patient bool
	random  *stat.Rand

	window            float64 // packets in a round of STARTUP
	held              bool    // the window does not grow in this round
	recent            [bbrFilter]float64
	rounds            int
	full              float64 // bw that STARTUP has to beat
	stalled           int     // rounds in which it did not
	draining, probing bool
	phase             int
	queue             float64 // BDPs
	rest              float64 // of a packet, not sent yet
	policer           policer

	arrived, clock float64
}

func newBBRRun(p Path, seed int, patient bool) *bbrRun {
	r := &bbrRun{Path: p, patient: patient, random: stat.NewRand(uint64(seed), bbrStream), window: initialWindow}
	r.clock = handshake(p, r.random)
	if patient {
		r.clock += lastRepair(p)
		r.WindowPackets *= windowShare
	}
	r.recent[0] = initialWindow / p.bdp()
	// The kernel draws the first phase, any but the second.
	r.phase = (2 + r.random.Index(len(bbrGains)-1)) % len(bbrGains)
	return r
}

// lastRepair returns how long the last flight takes until its last packet has arrived:
// each round leaves a share p of it. If the buffer is too short for STARTUP, which sends
// 2.9 times what the link takes, Recovery costs two more rounds.
func lastRepair(p Path) float64 {
	rounds := 0.0
	if p.Loss > 0 {
		rounds = max(0, math.Log(p.bdp())/math.Log(1/p.Loss))
	}
	if p.BufferPackets < (bbrHighGain-1)*p.bdp() {
		rounds += 2
	}
	return rounds * p.roundSeconds()
}

func (r *bbrRun) progress() (float64, float64) { return r.arrived, r.clock }

func (r *bbrRun) round() {
	bdp := r.bdp()
	sent := math.Floor(r.offered()*bdp + r.rest)
	r.rest += r.offered()*bdp - sent
	lost := r.lose(sent)
	arrivals := sent / bdp
	if !r.LossAfter {
		arrivals = (sent - lost) / bdp
	}
	out := min(1, arrivals+r.queue)
	r.queue += arrivals - out
	if over := r.queue - r.BufferPackets/bdp; over > 0 {
		r.queue -= over
		r.policer.look(-over, over) // of what lose took for delivered
	}
	r.queue = min(r.queue, 1) // cwnd is two BDPs
	if r.LossAfter && sent > 0 {
		out *= 1 - lost/sent
	}
	r.arrived += out * bdp
	r.clock += r.roundSeconds()
	r.learn(out, lost, r.policer.end())
}

// lose draws the losses of a round part by part, since the detector looks at every
// acknowledgement.
func (r *bbrRun) lose(sent float64) (lost float64) {
	r.policer.begin(r.probing)
	for part := range policerLooks {
		n := math.Floor(sent*float64(part+1)/policerLooks) - math.Floor(sent*float64(part)/policerLooks)
		l := float64(losses(r.random, int(n), r.Loss))
		r.policer.look((n-l)/r.bdp(), l/r.bdp())
		lost += l
	}
	return lost
}

// offered is the rate of this round, as a share of the bottleneck's.
func (r *bbrRun) offered() float64 {
	rate := r.gain() * bbrMargin * r.bw()
	if !r.draining && !r.probing {
		rate = min(rate, r.window/r.bdp())
	}
	if r.WindowPackets > 0 {
		rate = min(rate, r.WindowPackets/r.bdp())
	}
	return rate
}

func (r *bbrRun) gain() float64 {
	switch {
	case r.draining:
		return 1 / bbrHighGain
	case !r.probing:
		return bbrHighGain
	case r.policer.limits():
		return 1
	}
	return bbrGains[r.phase]
}

func (r *bbrRun) bw() float64 {
	if r.policer.limits() {
		return r.policer.bw
	}
	best := 0.0
	for _, x := range r.recent {
		best = max(best, x)
	}
	return best
}

func (r *bbrRun) learn(delivered, lost float64, lifted bool) {
	r.rounds++
	r.recent[r.rounds%bbrFilter] = delivered
	if !r.patient {
		r.recent[r.rounds%bbrFilter] += 1 / r.bdp()
	}
	switch {
	case r.draining:
		r.draining = r.queue > 0
		r.probing = !r.draining
	case r.probing && lifted:
		r.phase = (2 + r.random.Index(len(bbrGains)-1)) % len(bbrGains)
	case r.probing:
		r.phase = (r.phase + 1) % len(bbrGains)
	default:
		r.startup(delivered, lost)
	}
}

// startup grows the window by what was delivered, until the pipe seems full.
func (r *bbrRun) startup(delivered, lost float64) {
	if !r.held {
		r.window += delivered * r.bdp()
	}
	r.held = r.patient && lost > 0 && !r.held
	if r.bw() >= r.full*bbrFullGain {
		r.full, r.stalled = r.bw(), 0
	} else {
		r.stalled++
	}
	r.draining = r.stalled >= bbrFullTurn
}
