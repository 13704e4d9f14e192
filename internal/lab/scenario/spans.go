package scenario

import (
	"math"
	"slices"
)

// Span is a stretch of time in which a path stays as it is.
type Span struct {
	FromUs, ToUs       float64
	RateBitPerS, RTTUs float64
	Loss               float64 // share of the packets towards the receiver
}

// Spans cut time where the schedule changes the path; the first begins before all, the
// last never ends.
func (p *Path) Spans() []Span {
	list := []Span{{math.Inf(-1), 0, float64(p.RateBitPerS), float64(p.RTTUs), p.Loss.MeanPPM() / ppm}}
	for _, s := range p.Schedule {
		list[len(list)-1].ToUs = float64(s.AtUs)
		list = append(list, Span{float64(s.AtUs), 0, float64(s.RateBitPerS), float64(s.RTTUs), float64(s.LossPPM) / ppm})
	}
	list[len(list)-1].ToUs = math.Inf(1)
	return list
}

// Capacity returns what the path's rate lets through between two times in us, in bits times
// a million.
func (p *Path) Capacity(from, to float64) (bitUs float64) {
	for _, s := range p.Spans() {
		if us := min(to, s.ToUs) - max(from, s.FromUs); us > 0 {
			bitUs += s.RateBitPerS * us
		}
	}
	return bitUs
}

// Ever reports whether something holds in any span.
func (p *Path) Ever(holds func(Span) bool) bool { return slices.ContainsFunc(p.Spans(), holds) }

// Loses reports whether packets towards the receiver are ever lost at random.
func (p *Path) Loses() bool {
	return p.Loss.Gilbert != nil || p.Ever(func(s Span) bool { return s.Loss > 0 })
}

// LosesAt reports whether they are lost at that place.
func (p *Path) LosesAt(place string) bool { return p.Loss.At == place && p.Loses() }
