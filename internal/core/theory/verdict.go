package theory

import (
	"strings"

	"github.com/congctl/congctl/internal/core/outcome"
)

// The verdicts.
const (
	AsPredicted = "as predicted"
	Above       = "above the model: suspect the emulator"
	Below       = "below: investigate"
	NoModel     = "no model"
)

// When a measurement is a finding. A model's error and a run's luck must not be, so the
// edges have room; physics needs none but for what the clock and the last packets blur.
const (
	// aboveBound, ratio to the physical bound: 1 % is what a handshake and a burst add to
	// the shortest transfers of the shipped scenarios.
	aboveBound = 1.01
	// aboveHigh, ratio to the upper edge. The closed responses and the rounds differ by up
	// to a fifth. Losing super-packets as a whole, the mistake to be found, gives 2 to 9.
	aboveHigh = 1.25
	// bbrBelow, ratio to the lower edge: what short buffers, a busy CPU or the policer
	// detector take from BBR is more than a tenth.
	bbrBelow = 0.9
	// bbrClear, share of packets: up to it BBR's model has no cliff. The detector trips at
	// 16.3 %, by chance much earlier where few packets make an interval.
	bbrClear = 0.08
	// cubicBelow, ratio to the lower edge, which has PFTK's timeouts in it already.
	cubicBelow = 0.8
)

// Verdict compares what was measured with t. The loss is the path's, as a share.
func Verdict(t outcome.Theory, measuredBitPerS float64, cong string, loss float64) string {
	switch {
	case measuredBitPerS > t.BoundBitPerS*aboveBound:
		return Above
	case t.Model == "":
		return NoModel
	case measuredBitPerS > t.HighBitPerS*aboveHigh:
		return Above
	case strings.HasPrefix(cong, bbr) && loss <= bbrClear && measuredBitPerS < t.LowBitPerS*bbrBelow,
		cong == cubic && measuredBitPerS < t.LowBitPerS*cubicBelow:
		return Below
	}
	return AsPredicted
}
