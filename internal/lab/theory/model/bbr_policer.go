package model

import "math"

// The policer detector of BBRv1 ("long-term bandwidth", net/ipv4/tcp_bbr.c): two
// intervals of 4 to 16 rounds in which at least 50/256 as many packets were lost as
// delivered, with about the same rate, and BBR sends at their mean rate, without
// probing, for 48 rounds.
//
//	lost / delivered = p / (1-p) >= 50/256   <=>   p >= 16.3 %
//
// Random loss trips it just as a policer does. Near 16 % an interval of n packets does
// by chance, since the share of lost ones varies by sqrt(p (1-p) / n).
const (
	policerShare  = 50.0 / 256 // bbr_lt_loss_thresh
	policerLeast  = 4          // rounds of an interval (bbr_lt_intvl_min_rtts)
	policerMost   = 4 * policerLeast
	policerSpread = 1.0 / 8 // that two intervals' rates may differ by (bbr_lt_bw_ratio)
	policerHold   = 48      // rounds (bbr_lt_bw_max_rtts)
	// policerLooks in a round: the kernel looks at each acknowledgement of a loss, and in
	// quarters the chance to trip is near that already.
	policerLooks = 4
)

type policer struct {
	bw              float64 // of the last interval, or the one in force
	sampling        bool
	hold            int // rounds left in force
	lifted          bool
	rounds          int // of the interval
	lost, delivered float64
}

func (l *policer) limits() bool { return l.hold > 0 }

// begin starts a round. The hold counts in PROBE_BW only.
func (l *policer) begin(probing bool) {
	l.rounds++
	if l.limits() && probing {
		l.hold--
		l.lifted = l.hold == 0
	}
	if !l.limits() && l.rounds > policerMost {
		*l = policer{lifted: l.lifted}
	}
}

// look adds a part of a round: what was delivered and lost, in BDPs.
func (l *policer) look(delivered, lost float64) {
	if l.limits() || l.lifted {
		return
	}
	if !l.sampling { // it waits for the first loss
		*l = policer{bw: l.bw, sampling: lost > 0}
		return
	}
	l.lost += lost
	l.delivered += delivered
	if l.rounds >= policerLeast && lost > 0 && l.lost >= policerShare*l.delivered {
		l.interval(min(1, l.delivered/float64(l.rounds)))
	}
}

// end of a round: whether the limit was lifted in it, after which all starts over.
func (l *policer) end() (lifted bool) {
	if lifted = l.lifted; lifted {
		*l = policer{}
	}
	return lifted
}

// interval ends one with many losses.
func (l *policer) interval(bw float64) {
	if l.bw > 0 && math.Abs(bw-l.bw) <= policerSpread*l.bw {
		*l = policer{bw: (bw + l.bw) / 2, hold: policerHold}
		return
	}
	*l = policer{bw: bw, sampling: true}
}
