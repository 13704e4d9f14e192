package outcome

// BBRv1 takes two lossy intervals of equal rate for a token-bucket policer and then sends
// at that rate, without probing, for 48 round trips: bbr_lt_bw_sampling() in
// net/ipv4/tcp_bbr.c, when at least 50/256 of the delivered packets were lost. inet_diag
// has no field for it. But bbr_update_gains() reveals such an episode:
//
//	PROBE_BW          pacing gain 1.25, 0.75, then six phases of 1, each a min_rtt; cwnd gain 2
//	PROBE_BW, lt_bw   pacing gain 1 all the time, cwnd gain 2, and a rate that does not move
//	PROBE_RTT         pacing gain 1, cwnd gain 1
//
// So an episode is a row of samples with gains 1 and 2 and one rate that is longer than a
// cycle of eight phases. Samples further apart than a min_rtt could miss the other two
// phases; then a row must have as many samples as chance would give once in a thousand
// rows, (6/8)^24, or belong to a connection that hardly probes: the phase of 1.25 alone is
// an eighth of the probing time. An episode of 48 round trips of a millisecond has too few
// samples of 10 ms in it for the first rule.
const (
	unitGain   = 256 // BBR_UNIT
	cyclePhase = 8   // CYCLE_LEN
	chanceRow  = 24
	// hardlyProbes, share of the PROBE_BW samples: with a gain that is not 1. Two phases of eight
	// are a quarter, so that chance stays below an eighth once in a thousand connections
	// of leastProbed samples.
	hardlyProbes = 1.0 / 8
	leastProbed  = 96
	// policedRow, samples, is a row of such a connection. Chance makes one row in ten as
	// long, (6/8)^8, and only if the rate stays the same all the while.
	policedRow = 8
)

// bbrFlow summarises one connection's BBR samples.
type bbrFlow struct {
	all, cycling, probing int        // samples: of BBR, in PROBE_BW, of those with a gain that is not 1
	rows                  [][]Sample // with gains 1 and 2 and one rate
	last                  *Sample    // of the row that goes on, nil if none does
}

// policerShare is the share of BBR's samples that lie in such episodes.
func policerShare(samples []Sample) float64 {
	flows := map[string]*bbrFlow{}
	for i := range samples {
		s := &samples[i]
		if s.BBRPacingGain == 0 {
			continue
		}
		if flows[s.Flow] == nil {
			flows[s.Flow] = new(bbrFlow)
		}
		flows[s.Flow].add(s)
	}
	all, in := 0, 0
	for _, f := range flows { // sums do not depend on the order
		all += f.all
		in += f.policed()
	}
	return float64(in) / float64(max(all, 1))
}

func (f *bbrFlow) add(s *Sample) {
	f.all++
	if s.BBRCwndGain != 2*unitGain || s.BBRPacingGain != unitGain {
		f.last = nil
		if s.BBRCwndGain == 2*unitGain {
			f.cycling++
			f.probing++
		}
		return
	}
	f.cycling++
	if f.last == nil || f.last.BBRBwBytesPerS != s.BBRBwBytesPerS {
		f.rows = append(f.rows, nil)
	}
	row := &f.rows[len(f.rows)-1]
	*row = append(*row, *s)
	f.last = s
}

// policed counts the samples in episodes.
func (f *bbrFlow) policed() (n int) {
	least := chanceRow
	if f.cycling >= leastProbed && float64(f.probing) < hardlyProbes*float64(f.cycling) {
		least = policedRow
	}
	for _, row := range f.rows {
		if episode(row, least) {
			n += len(row)
		}
	}
	return n
}

// episode reports whether a row is one, of at least that many samples if they are coarse.
func episode(row []Sample, least int) bool {
	if len(row) < 2 {
		return false
	}
	phase := uint64(row[0].BBRMinRTTUs)
	apart := uint64(0)
	for i := range row[1:] {
		apart = max(apart, row[i+1].AtUs-row[i].AtUs)
	}
	long := row[len(row)-1].AtUs-row[0].AtUs > cyclePhase*phase
	return phase > 0 && long && (apart <= phase || len(row) >= least)
}
