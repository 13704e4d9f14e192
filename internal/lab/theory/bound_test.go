package theory

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// TestBoundByHand: each value follows from the rule on paper.
func TestBoundByHand(t *testing.T) {
	for _, k := range []struct {
		name   string
		change func(*scenario.Cell)
		want   float64
	}{
		{"before", func(*scenario.Cell) {}, capBitPerS},
		{"at the sender", func(c *scenario.Cell) { c.Path.Loss.At = scenario.LossSender }, capBitPerS},
		{"after", func(c *scenario.Cell) { c.Path.Loss.At = scenario.LossAfter }, capBitPerS * 0.84},
		{"two constant rates", func(c *scenario.Cell) {
			c.Flows = []scenario.Flow{{RateBitPerS: 1e6, DurationUs: 1e6}, {RateBitPerS: 2e6, DurationUs: 1e6}}
		}, 3e6},
		{"the sender's tbf", func(c *scenario.Cell) { c.Sender.TbfBitPerS = 1e6 }, 1e6 * 1448 / 1514},
		// Half of ten seconds at the full rate, half at a tenth.
		{"time of a schedule", func(c *scenario.Cell) {
			c.Flows[0] = scenario.Flow{DurationUs: 10e6}
			c.Path.Loss.PPM = 0
			c.Path.Schedule = []scenario.Step{{AtUs: 5e6, RateBitPerS: 10e6}}
		}, 0.55 * capBitPerS},
		// A second at the full rate leaves a quarter of a second's worth: 2.5 s at a tenth.
		{"bytes of a schedule", func(c *scenario.Cell) {
			c.Flows[0].Bytes = 1.25 * 1448e6 / 8 // bytes of payload, over 1514 Mbit/s
			c.Path.RateBitPerS = 1514e6
			c.Path.Schedule = []scenario.Step{{AtUs: 1e6, RateBitPerS: 151.4e6}}
		}, 1.25 * 1448e6 / 3.5},
		// A tenth of the bytes is in the bucket.
		{"bytes and a burst", func(c *scenario.Cell) {
			c.Flows[0].Bytes = 14_480_000
			c.Path.BurstBytes = 1_514_000
		}, capBitPerS / 0.9},
		{"time and a burst", func(c *scenario.Cell) {
			c.Flows[0] = scenario.Flow{DurationUs: 1e6}
			c.Path.BurstBytes = 1_250_000 // a tenth of a second
		}, capBitPerS * 1.1},
		// All of it in the bucket: only the handshake and the way remain.
		{"a burst alone", func(c *scenario.Cell) {
			c.Flows[0].Bytes = 15_000
			c.Path.BurstBytes = 64 << 10
		}, 15_000 * 8 / 0.2},
		{"size beside duration", func(c *scenario.Cell) {
			c.Flows = append(c.Flows, scenario.Flow{DurationUs: 1e6})
		}, capBitPerS},
	} {
		c := cell("bbr", 160_000)
		k.change(c)
		if got := BoundBitPerS(c); math.Abs(got/k.want-1) > 1e-9 {
			t.Errorf("%s: %.6g, want %.6g", k.name, got, k.want)
		}
	}
}
