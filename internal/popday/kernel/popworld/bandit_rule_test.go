package popworld

import "math"

// The rule of bpf/bandit.bpf.c, a competitor's, in Go, for comparison with the program. It learns
// one congestion control for all clients behind a next hop, and moves any connection that loses
// packets to BBR at once. The best rate of an arm never ages: one lucky connection is remembered
// for ever, as in the original.
//
// Epsilon-greedy choice among four arms, one state for each next hop. At the end of a
// connection with the smallest round trip t and the last rate sample r,
//
//	best_t = min(best_t, t);  max_r[arm] = max(max_r[arm], r);  best_r = max(best_r, r)
//	c = 1e6 (t - best_t) / best_t + 1e6 (best_r - max_r[arm]) / best_r
//	cost[arm] += (c - cost[arm]) / 4
//
// and the next connection gets the arm of the least cost, or once in 20 any arm. Besides, a connection
// that has retransmitted more than 1/64 of what it sent moves to BBR at once.
//
// Source: the published behaviour of bpftune (github.com/oracle/bpftune). What that leaves open was
// chosen here: costs begin at 0, so an arm never tried comes first; on equal costs the first in order
// wins; a connection moved to BBR counts for BBR at its end.

const (
	// learnAfter: the first connections of a next hop, which are left alone.
	learnAfter = 4
	// exploreOneIn: any arm, once in so many choices.
	exploreOneIn = 20

	// scale of a cost: 1,000,000 is "twice the best round trip" or "no rate at all".
	scale = 1_000_000
	// costShift: a quarter of the difference.
	costShift = 2
	// lossShift: a 64th of what was sent.
	lossShift = 6
)

// nextHop is what is known of the clients behind one. The zero value knows nothing.
type nextHop struct {
	Connections uint64 // begun
	BestRTTUs   uint64 // 0: none yet
	BestRate    uint64 // bytes/s
	MaxRate     [len(banditArms)]uint64
	Cost        [len(banditArms)]uint64
}

// Begin counts a connection and returns its arm by a random number; ok is false if it is left alone.
func (h *nextHop) Begin(random uint32) (arm int, ok bool) {
	h.Connections++
	if h.Connections <= learnAfter {
		return 0, false
	}
	if random%exploreOneIn == 0 {
		return int(random / exploreOneIn % uint32(len(banditArms))), true
	}
	return h.greedy(), true
}

func (h *nextHop) greedy() (best int) {
	for arm, cost := range h.Cost {
		if cost < h.Cost[best] {
			best = arm
		}
	}
	return best
}

// End learns from a connection of an arm: its smallest round trip in microseconds and its last rate
// sample in bytes/s. It ignores one without either, and must not get one that was left alone.
func (h *nextHop) End(arm int, rttUs, rate uint64) {
	if rttUs == 0 || rate == 0 {
		return
	}
	if h.BestRTTUs == 0 || rttUs < h.BestRTTUs {
		h.BestRTTUs = rttUs
	}
	h.MaxRate[arm] = max(h.MaxRate[arm], rate)
	h.BestRate = max(h.BestRate, rate)
	cost := int64((rttUs-h.BestRTTUs)*scale/h.BestRTTUs + (h.BestRate-h.MaxRate[arm])*scale/h.BestRate)
	h.Cost[arm] += uint64((cost - int64(h.Cost[arm])) >> costShift)
}

// network is what is known of the rates of a client network's connections on BBR, for their cap: a percentile that goes 19 % up for
// each above it and 1 % down for each below is steady where one in twenty is above.
type network struct{ Rate, Ends uint64 }

func (n *network) End(rate uint64) {
	n.Ends++
	switch {
	case n.Ends == 1:
		n.Rate = rate
	case rate > n.Rate:
		n.Rate += n.Rate * 19 / 100
	default:
		n.Rate -= n.Rate / 100
	}
}

// Cap returns the cap, bytes/s; 0 as long as fewer than 20 are known, and where a socket option cannot hold it.
func (n *network) Cap() uint64 {
	if most := n.Rate * 115 / 100; n.Ends >= 20 && most < math.MaxUint32 {
		return most
	}
	return 0
}

// byLoss reports whether a connection that has just retransmitted goes to BBR. Below 64
// segments the first retransmission is enough.
func byLoss(retransmitted, sent uint32) bool { return retransmitted > sent>>lossShift }
