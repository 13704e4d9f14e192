package policy

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Kappa: what all networks of a PoP gain, of what its treated networks gain. Where a line is shared the treatment may win what others on
// it lose: a network's own control blocks then show a gain that is none, and the losers are those that are not treated with it. All
// networks share one draw (loop/plan). So where it turns some of them on or off between two blocks, look at those that it did not turn:
//
//	d    = ln rate of the block - that of the block before, times +1 when turned on, -1 when off
//	won  = sum of w d over the networks that were turned,  left = the same over all others but hold-out and A/A,  w = min(connections, mostWeight)
//	kappa = (won + left) / won = 1 + left / won
//
// It is 1 where nothing is shared and 0 where all is taken from others. left / won ~ N(0, kappaSpread^2) before, and by the sums
// N(left / won, V / won^2), where
//
//	V = 2 sum of w^2 (Conn^2/n + Conn^2/n' + 2 Block^2) + 2 shock^2 (sum of w)^2
//
// over all of them, since the error of won counts as well; twice, since a block between two turns is in both, with one sign; and
// shock is by how much the levels of all change together from block to block, learnt where nothing was turned. Networks that are
// turned together take nothing from each other that their control blocks would not show. Another server's clients on the same line are not
// measured, and what they lose does not show here.

const (
	kappaSpread = 0.5  // of left / won, between PoPs: some share all of their lines, most hardly any
	leastKappa  = 0.02 // an estimate may be below 0, and a belief times 0 would be sure
	mostWeight  = 30   // connections of a block; more say little more of a level that drifts
	keepsTurns  = 0.995

	// Before anything was seen, levels of all change by usualShock, ln of rate, as if seen usualCalm times; calmest is how many
	// connections' worth of no change are added to each, so that a few networks do not speak for all.
	usualShock, usualCalm, calmest = 0.05, 4, 10
)

// blockLevel is what a network had in one block.
type blockLevel struct {
	number uint32 // of the block
	n      float32
	mean   float32 // of ln rate
	arm    record.Arm
}

// Turns are the sums of kappa, each block's forgotten by 0.995 in a block: half of them in a day of blocks of ten minutes.
type Turns struct {
	Until  int64   `json:"until_unix_s"` // the end of the last block in them
	Won    float64 `json:"won"`
	Left   float64 `json:"left"`
	Noise  float64 `json:"noise"`  // V
	Shocks float64 `json:"shocks"` // squares of what all changed by where nothing was turned
	Calm   float64 `json:"calm"`   // how many such blocks
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
	var won, left, noise, weights float64
	sign := 0.0
	for _, t := range e.tracks {
		turned, ok := t.turned(block)
		if !ok {
			continue
		}
		n, before := float64(t.now.n), float64(t.was.n)
		w, d := min(n, before, mostWeight), float64(t.now.mean)-float64(t.was.mean)
		weights += w
		noise += w * w * (e.noise.Conn*e.noise.Conn*(1/n+1/before) + 2*e.noise.Block*e.noise.Block)
		if turned != 0 {
			sign, won = turned, won+w*d
		} else {
			left += w * d
		}
	}
	if weights == 0 {
		return
	}
	s.Until = end
	s.Won, s.Left, s.Noise = keepsTurns*s.Won, keepsTurns*s.Left, keepsTurns*keepsTurns*s.Noise
	if sign == 0 {
		all := left / (weights + calmest)
		s.Shocks, s.Calm = keepsTurns*s.Shocks+all*all, keepsTurns*s.Calm+1
		return
	}
	s.Won, s.Left, s.Noise = s.Won+sign*won, s.Left+sign*left, s.Noise+2*noise+2*s.shock()*weights*weights
}

// shock is the variance of what all networks change by from block to block.
func (s Turns) shock() float64 {
	return (s.Shocks + usualCalm*usualShock*usualShock) / (s.Calm + usualCalm)
}

// robbed is the posterior of -left / won: the part of the gain that others lose.
func (s Turns) robbed() (mean, sd float64) {
	m := message{precision: 1 / (kappaSpread * kappaSpread)}
	if s.Won > 0 && s.Noise > 0 {
		p := s.Won * s.Won / s.Noise
		m = m.plus(message{p, -p * s.Left / s.Won})
	}
	return m.weighted / m.precision, 1 / math.Sqrt(m.precision)
}

// taken is the part of a gain that a belief takes off.
func (s Turns) taken() float64 {
	mean, _ := s.robbed()
	return min(max(mean, 0), 1-leastKappa)
}

// Taken is the part of what treated networks gain that others of the PoP lose, with an interval of 95 %: 1 - kappa. Below 0 the others gain, too.
type Taken struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Taken returns what the turns so far say; nil while that is less than what was thought before any.
func (s Turns) Taken() *Taken {
	if s.Won <= 0 || s.Noise <= 0 || s.Won*s.Won*kappaSpread*kappaSpread < s.Noise {
		return nil
	}
	mean, sd := s.robbed()
	return &Taken{mean, mean - 1.96*sd, mean + 1.96*sd}
}

// Text returns the share and its interval as a sentence.
func (t *Taken) Text() string {
	text := "of what treated networks gain, others here lose %s (%s to %s)"
	if t.Low <= 0 {
		text += ": not shown to be any"
	}
	return fmt.Sprintf(text, percent(t.Share, 0), percent(t.Low, 0), percent(t.High, 0))
}

// text says what the treatment takes from others, "" if that is hardly anything.
func (s Turns) text() string {
	if t := s.Taken(); t != nil && t.Low > 0 {
		return t.Text()
	}
	return ""
}
