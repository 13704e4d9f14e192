package main

import (
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

const pacingText = `
name: pacing
about: for tests
arms: [bbr, pfifo_fast+bbr]
matrix: {pacing: [auto, none]}
path: {rate: 20mbit, rtt: 40ms, buffer: 4bdp}
flows:
  - {size: 4MB}
measure: {limit: 20s, sample: 10ms}
`

// TestLabUnpaced: who does not pace leaves a standing queue. BBR's window is twice the
// path and more, and its pacing is what keeps it from filling that; to drain the queue of
// its start it only paces less.
func TestLabUnpaced(t *testing.T) {
	m := programMachine(t)
	s, err := scenario.Parse("pacing.yml", []byte(pacingText))
	check(t, err)
	const bdpUs = 40_000 // the queue of one BDP takes a round trip
	for i, run := range runCells(t, m, s.Cells) {
		c := &s.Cells[i]
		r := outcome.Judge(s, c, &run)
		if !r.Valid {
			t.Errorf("%s: broken %v", c.ID, broken(r))
			continue
		}
		queue, minRTT := r.Metrics.QueueUs.P50, run.Flows[0].MinRTTUs
		t.Logf("%s: queue %.0f us, minimum round trip %d us, %.2f Mbit/s", c.ID, queue, minRTT, r.Metrics.GoodputBitPerS/1e6)
		if unpaced := c.Sender.Pacing == scenario.PacingNone; unpaced != (queue > bdpUs) || !unpaced && queue > bdpUs/2 {
			t.Errorf("%s: queue of %.0f us", c.ID, queue)
		}
		if minRTT < 40_000 || minRTT > 41_000 { // TCP's own clock is right
			t.Errorf("%s: minimum round trip %d us", c.ID, minRTT)
		}
	}
}
