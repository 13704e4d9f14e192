package bandit

// Epsilon-greedy choice among four arms, one state for each next hop. At the end of a
// connection with the smallest round trip t and the last rate sample r,
//
//	best_t = min(best_t, t);  max_r[arm] = max(max_r[arm], r);  best_r = max(best_r, r)
//	c = 1e6 (t - best_t) / best_t + 1e6 (best_r - max_r[arm]) / best_r
//	cost[arm] += (c - cost[arm]) / 4
//
// and the next connection gets the arm of the least cost, or once in 20 any arm. Besides,
// whoever has retransmitted more than 1/64 of what it sent goes to BBR at once.
//
// Source: the published behaviour of bpftune (github.com/oracle/bpftune). What that leaves
// open was chosen here: costs begin at 0, so an arm never tried comes first; equal costs
// go to the first in order; who was moved to BBR counts for BBR at its end.

// Arms in the order of struct next_hop in bpf/bandit.bpf.c.
var Arms = [4]string{"cubic", "bbr", "htcp", "dctcp"}

const (
	// LossArm is where the loss rule moves.
	LossArm = 1
	// LearnAfter: connections of a next hop that are left alone first.
	LearnAfter = 4
	// ExploreOneIn: any arm, once in so many choices.
	ExploreOneIn = 20

	// scale of a cost: 1,000,000 is "twice the best round trip" or "no rate at all".
	scale = 1_000_000
	// costShift: a quarter of the difference.
	costShift = 2
	// lossShift: a 64th of what was sent.
	lossShift = 6
)

// NextHop is what is known of the clients behind one. The zero value knows nothing.
type NextHop struct {
	Connections uint64 // begun
	BestRTTUs   uint64 // 0: none yet
	BestRate    uint64 // bytes/s
	MaxRate     [len(Arms)]uint64
	Cost        [len(Arms)]uint64
}

// Begin counts a connection and gives its arm by a random number; ok is false where it
// is left alone.
func (h *NextHop) Begin(random uint32) (arm int, ok bool) {
	h.Connections++
	if h.Connections <= LearnAfter {
		return 0, false
	}
	if random%ExploreOneIn == 0 {
		return int(random / ExploreOneIn % uint32(len(Arms))), true
	}
	return h.greedy(), true
}

func (h *NextHop) greedy() (best int) {
	for arm, cost := range h.Cost {
		if cost < h.Cost[best] {
			best = arm
		}
	}
	return best
}

// End learns from a connection of an arm: its smallest round trip in microseconds and its
// last rate sample in bytes/s. One without either teaches nothing, and one that was left
// alone is not told.
func (h *NextHop) End(arm int, rttUs, rate uint64) {
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

// ByLoss says whether a connection that has just retransmitted goes to BBR. Below 64
// segments the first retransmission is enough.
func ByLoss(retransmitted, sent uint32) bool { return retransmitted > sent>>lossShift }
