package outcome

// BBRv1 takes two lossy intervals of equal rate for a token-bucket policer and then
// sends at that rate, without probing, for 48 round trips: bbr_lt_bw_sampling() in
// net/ipv4/tcp_bbr.c, when at least 50/256 of the delivered packets were lost. inet_diag
// has no field for it. But bbr_update_gains() gives such an episode away:
//
//	PROBE_BW          pacing gain 1.25, 0.75, then six phases of 1, each a min_rtt; cwnd gain 2
//	PROBE_BW, lt_bw   pacing gain 1 all the time, cwnd gain 2, and a rate that does not move
//	PROBE_RTT         pacing gain 1, cwnd gain 1
//
// So an episode is a row of samples with gains 1 and 2 and one rate that is longer than
// a cycle of eight phases. Samples that lie further apart than a min_rtt could step over
// the other two phases; then a row must have as many samples as chance would give once
// in a thousand rows: (6/8)^24.
const (
	unitGain   = 256 // BBR_UNIT
	cyclePhase = 8   // CYCLE_LEN
	chanceRow  = 24
)

// policerShare is the share of BBR's samples that lie in such episodes.
func policerShare(samples []Sample) float64 {
	all, in := 0, 0
	rows := map[string][]Sample{}
	end := func(flow string) {
		if row := rows[flow]; episode(row) {
			in += len(row)
		}
		rows[flow] = rows[flow][:0]
	}
	for _, s := range samples {
		if s.BBRPacingGain == 0 {
			continue
		}
		all++
		row := rows[s.Flow]
		steady := s.BBRPacingGain == unitGain && s.BBRCwndGain == 2*unitGain
		if len(row) > 0 && (!steady || s.BBRBwBytesPerS != row[0].BBRBwBytesPerS) {
			end(s.Flow)
		}
		if steady {
			rows[s.Flow] = append(rows[s.Flow], s)
		}
	}
	for flow := range rows { // sums do not depend on the order
		end(flow)
	}
	return float64(in) / float64(max(all, 1))
}

func episode(row []Sample) bool {
	if len(row) < 2 {
		return false
	}
	phase := uint64(row[0].BBRMinRTTUs)
	apart := uint64(0)
	for i := range row[1:] {
		apart = max(apart, row[i+1].AtUs-row[i].AtUs)
	}
	long := row[len(row)-1].AtUs-row[0].AtUs > cyclePhase*phase
	return phase > 0 && long && (apart <= phase || len(row) >= chanceRow)
}
