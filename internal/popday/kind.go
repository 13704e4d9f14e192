package popday

import (
	"slices"

	"github.com/congctl/congctl/internal/popday/pop"
)

// kind is what a class of networks should show.
type kind string

const (
	kindHelped    kind = "helped"    // the treatment is made for such paths: the day's static
	kindGuarded   kind = "guarded"   // no congestion control limits it: a guard must keep it out
	kindChanging  kind = "changing"  // bad for a while: too short or too unsteady to be chosen
	kindNeighbour kind = "neighbour" // of the class that it is behind: another server's, on CUBIC
	kindPlain     kind = "plain"     // the rest; some are slow, and no congestion control can help
)

// kindOf decides by what the day says of a class, not by its name.
func kindOf(d *pop.Day, c *pop.Class, lowRTTUs float64) kind {
	t := &c.Traffic
	switch {
	case c.Theirs():
		return kindNeighbour
	case slices.Contains(d.Static, c.Name):
		return kindHelped
	case t.Rcvbuf > 0 || t.AppBitPerS > 0 || c.Path.Policer || float64(c.Path.RTTUs) < lowRTTUs:
		return kindGuarded
	case len(c.Whens) > 0:
		return kindChanging
	}
	return kindPlain
}

// Class is a line of the day's mix.
type Class struct {
	Name     string `json:"name"`
	Kind     kind   `json:"kind"`
	Networks int    `json:"networks"`
	Line
	Upto        *Line  `json:"up_to,omitempty"` // the seed draws each network's path: the other end of its ranges
	SpreadPPM   uint32 `json:"spread_ppm,omitempty"`
	VaryPPM     uint32 `json:"vary_ppm,omitempty"` // sd of the log of a wandering rate
	RcvbufBytes uint64 `json:"rcvbuf_bytes,omitempty"`
	AppBitPerS  uint64 `json:"app_bit_per_s,omitempty"`
	Behind      string `json:"behind,omitempty"`  // the class whose lines these share, with another server
	Shares      string `json:"shares,omitempty"`  // the class whose lines these share, with the edge
	Changes     int    `json:"changes,omitempty"` // stretches of time with another path
}

// Line is a path.
type Line struct {
	RateBitPerS uint64 `json:"rate_bit_per_s"`
	RTTUs       uint64 `json:"rtt_us"`
	JitterUs    uint64 `json:"jitter_us,omitempty"`
	LossPPM     uint32 `json:"loss_ppm,omitempty"`
	LossBurst   uint64 `json:"loss_burst,omitempty"` // packets in a row on average; 0: each by itself
	BufferBytes uint64 `json:"buffer_bytes"`
	Policer     bool   `json:"policer,omitempty"`
	BurstBytes  uint64 `json:"burst_bytes,omitempty"` // of a policer
}

func mixOf(in *Input) (mix []Class) {
	for i := range in.Day.Classes {
		c := &in.Day.Classes[i]
		line := Class{Name: c.Name, Kind: kindOf(in.Day, c, in.Experiment.LowRTTUs), Networks: c.Count, Line: lineOf(c.Path), SpreadPPM: c.SpreadPPM,
			VaryPPM: c.Vary.SDPPM, RcvbufBytes: c.Traffic.Rcvbuf, AppBitPerS: c.Traffic.AppBitPerS, Changes: len(c.Whens)}
		if c.Theirs() {
			line.Behind = c.Behind
		} else {
			line.Shares = c.Behind
		}
		if c.Drawn() {
			most := lineOf(c.Upto())
			line.Upto = &most
		}
		mix = append(mix, line)
	}
	return mix
}

func lineOf(p pop.Path) Line {
	return Line{RateBitPerS: p.RateBitPerS, RTTUs: p.RTTUs, JitterUs: p.JitterUs, LossPPM: p.LossPPM, LossBurst: p.LossBurst,
		BufferBytes: p.Buffer.At(p.RTTUs).Bytes(p.RateBitPerS), Policer: p.Policer, BurstBytes: p.BurstBytes}
}
