package policy

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// What others lose: where a line is shared the treatment may win what others on
// it lose. A network's own control blocks then show a gain that is none, and the losers are those that are not treated with it. All
// networks share one draw (loop/plan). So where it turns some of them on or off between two blocks, look at those that it did not turn:
//
//	m = mean of ln rate of the block - that of the block before, over the c connections not turned but hold-out and A/A
//	x = (connections of those turned) / c, + when turned on, - when off
//	m = -lost x + shock,   shock ~ N(0, s^2 (1 + sampled / c))
//
// lost is how much others lose for each treated network, in its own unit, ln of rate: what it gains less that is left for all. With left = c m and
// moved = c |x|, summed with the sign of x,
//
//	lost ~ N(0, lostSpread^2) before, and by the sums N(-left / moved, 2 s^2 sum(c^2 + sampled c) / moved^2)
//
// twice, since a block between two turns is in both, with one sign; s is learnt from what lost leaves over, by weights c / (c + sampled). Blocks of a
// few turned networks count for what they moved, not for its square, since the more of a line are treated the less each takes from others.
//
// kappa = 1 - lost / mean gain of those turned is the share that the
// PoP keeps: 1 where nothing is shared, 0 where all is taken from others. It is a figure for people. Belief takes lost off each gain, and not a share
// of it: networks that truly gain would pay for those that only take, and these would stay promoted (docs/measured.md). Networks that are
// turned together take nothing from each other that their control blocks would not show. Another server's clients on the same line are not
// measured, and what they lose does not show here.

const (
	lostSpread = 0.4 // ln of rate: a line of four of which one wins a double share
	mostWeight = 30  // connections of a block; more say little more of a level that drifts
	keepsTurns = 0.995

	// Before anything was seen, levels of all change by usualShock, ln of rate, as if seen usualCalm times; sampled is with how many
	// connections their mean is as uncertain as that: 0.66 between connections, 0.2 between a network's blocks of five.
	usualShock, usualCalm, sampled = 0.05, 4, 500
)

// blockLevel is what a network had in one block.
type blockLevel struct {
	number uint32 // of the block
	n      float32
	mean   float32 // of ln rate
	arm    record.Arm
}

// Turns are the sums of what others lose, each block's forgotten by 0.995 in a block: half of them in a day of blocks of ten minutes.
type Turns struct {
	Until   int64   `json:"until_unix_s"` // the end of the last block in them
	Blocks  float64 `json:"blocks"`
	Squares float64 `json:"squares"` // of what lost leaves over of m, weighted
	Won     float64 `json:"won"`     // what those turned changed by, times their connections
	Left    float64 `json:"left"`    // the same of the others
	Moved   float64 `json:"moved"`   // connections of those turned
	Spread  float64 `json:"spread"`  // c^2 + sampled c, of blocks that turned some
}

// noteBlock counts one window's rows of a network in its block. A block in which the network came, left or changed its arm has none.
func (t *track) noteBlock(rows []*record.Window, number int64) {
	if uint32(number) != t.now.number {
		t.was, t.now = t.now, blockLevel{number: uint32(number)}
	}
	for _, w := range rows {
		switch {
		case w.Carryover || w.Washout || w.Eligible == 0 || w.LogRateMean == 0 || w.Arm == record.ArmUnknown:
			continue // of an application that chose its own congestion control, among others
		case t.now.n > 0 && t.now.arm != w.Arm:
			t.now.arm = record.ArmUnknown
			return
		}
		n, had := float64(w.Eligible), float64(t.now.n)
		t.now.mean = float32((float64(t.now.mean)*had + w.LogRateMean*n) / (had + n))
		t.now.n, t.now.arm = t.now.n+float32(n), w.Arm
	}
}

// turned returns +1 if the network was turned on between its last two blocks, -1 if off; ok is false if they cannot be compared.
func (t *track) turned(block uint32) (sign float64, ok bool) {
	a, b := t.was.arm, t.now.arm
	switch {
	case t.now.number != block || t.was.number != block-1 || t.now.n == 0 || t.was.n == 0:
		return 0, false
	case a == b:
		return 0, a == record.ArmNone || a == record.ArmTreatment || a == record.ArmControl
	case a == record.ArmControl && b == record.ArmTreatment:
		return 1, true
	}
	return -1, a == record.ArmTreatment && b == record.ArmControl
}

// turnOf sums up the block that has ended at a time.
func (e *Engine) turnOf(end int64) {
	s := &e.turns
	if e.rules.PoPGroup() == 0 || end <= s.Until {
		return
	}
	block := uint32(e.blockOf(end) - 1)
	var won, moved, left, stayed, sign float64
	for _, t := range e.tracks {
		turned, ok := t.turned(block)
		if !ok {
			continue
		}
		w, d := float64(min(t.now.n, t.was.n, mostWeight)), float64(t.now.mean)-float64(t.was.mean)
		if turned != 0 {
			sign, won, moved = turned, won+w*d, moved+w
		} else {
			left, stayed = left+w*d, stayed+w
		}
	}
	if stayed == 0 {
		return
	}
	m, x := left/stayed, sign*moved/stayed
	lost, _ := s.lost()
	over := m + lost*x
	*s = Turns{Until: end, Blocks: keepsTurns*s.Blocks + 1, Squares: keepsTurns*s.Squares + over*over*stayed/(stayed+sampled),
		Won: keepsTurns*s.Won + sign*won, Left: keepsTurns*s.Left + sign*left, Moved: keepsTurns*s.Moved + moved, Spread: keepsTurns * s.Spread}
	if sign != 0 {
		s.Spread += stayed * (stayed + sampled)
	}
}

// shock is the variance of what all networks change by from block to block.
func (s Turns) shock() float64 {
	return (s.Squares + usualCalm*usualShock*usualShock) / (s.Blocks + usualCalm)
}

// lost is the posterior of what others lose for each treated network.
func (s Turns) lost() (mean, sd float64) {
	m := message{precision: 1 / (lostSpread * lostSpread)}
	if s.Spread > 0 && s.Moved > 0 {
		p := s.Moved * s.Moved / (2 * s.shock() * s.Spread)
		m = m.plus(message{p, -p * s.Left / s.Moved})
	}
	return m.weighted / m.precision, 1 / math.Sqrt(m.precision)
}

// taken is what a belief takes off a gain.
func (s Turns) taken() float64 {
	lost, _ := s.lost()
	return max(0, lost)
}

// Taken is the part of what treated networks gain that others of the PoP lose, with an interval of 95 %: 1 - kappa. Below 0 the others gain, too.
type Taken struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Taken returns what the turns so far say; nil while that is less than what was thought before any, or a share with an error of more than a half.
func (s Turns) Taken() *Taken {
	mean, sd := s.lost()
	if gain := s.Won / s.Moved; sd < gain/2 && 2*sd*sd < lostSpread*lostSpread {
		return &Taken{mean / gain, (mean - 1.96*sd) / gain, (mean + 1.96*sd) / gain}
	}
	return nil
}

// Text returns the share and its interval as a sentence.
func (t *Taken) Text() string {
	text := "of what treated networks gain, others here lose %s (%s to %s)"
	if t.Low <= 0 {
		text += ": not shown to be any"
	}
	return fmt.Sprintf(text, percent(t.Share, 0), percent(t.Low, 0), percent(t.High, 0))
}
