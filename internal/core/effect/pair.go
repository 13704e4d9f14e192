package effect

import "github.com/congctl/congctl/internal/core/record"

// Pair is both arms of one prefix in one group of blocks: what every estimate here is
// made of. A group has exactly one control block; the treatment blocks, one on trial
// and seven once promoted, are joined to one side of ONE pair, since seven pairs with
// the same control block would count its luck seven times.
type Pair struct {
	Prefix record.Prefix
	Group  int64   // number of the group, of its own length
	End    int64   // Unix seconds of the group's end: the pair is known from then on
	T, C   Block   // treatment, control; by assignment, whatever was applied
	P      float64 // share of treatment blocks in the group: 1/2 on trial, 7/8 once promoted
}

// Usable reports whether both arms saw a connection: one alone compares nothing.
func (p Pair) Usable() bool { return p.T.N > 0 && p.C.N > 0 }

// LogRatio is the pair's difference, ln(treatment / control).
func (p Pair) LogRatio() float64 { return p.T.MeanLog - p.C.MeanLog }

// share is P, or a half where the caller left it out or out of bounds.
func (p Pair) share() float64 {
	if p.P > 0 && p.P < 1 {
		return p.P
	}
	return 0.5
}
