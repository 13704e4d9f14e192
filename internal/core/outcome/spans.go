package outcome

import (
	"math"

	"github.com/congctl/congctl/internal/core/scenario"
)

// span is a stretch of time in which the path stays as it is; the first begins
// before all, the last never ends.
type span struct {
	from, to float64 // us
	rate     float64 // bit/s
	rtt      float64 // us
	loss     float64 // share
}

// spans cuts time where the schedule changes the path.
func spans(p *scenario.Path) []span {
	list := []span{{from: math.Inf(-1), rate: float64(p.RateBitPerS), rtt: float64(p.RTTUs), loss: p.Loss.MeanPPM() / 1e6}}
	for _, s := range p.Schedule {
		list[len(list)-1].to = float64(s.AtUs)
		list = append(list, span{from: float64(s.AtUs), rate: float64(s.RateBitPerS), rtt: float64(s.RTTUs), loss: float64(s.LossPPM) / 1e6})
	}
	list[len(list)-1].to = math.Inf(1)
	return list
}

// capacity is what the path's rate lets through between two moments, in bytes.
func capacity(p *scenario.Path, from, to float64) (bytes float64) {
	for _, s := range spans(p) {
		if us := min(to, s.to) - max(from, s.from); us > 0 {
			bytes += s.rate * us / 8e6
		}
	}
	return bytes
}
