package policy

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Trial: with selection by benefit a network's own blocks correct what is believed of it, and belief decides (share.go).
//
//	 class --> on trial --(belief)--> promoted
//	           |      ^                |     |
//	           |      +--(belief; a slow block; a second look)
//	           |                             |
//	           +--(belief; harm; cost)--+----+
//	                                    v
//	                               cooling down
//
// This file holds what a prefix carries meanwhile: its blocks. A block's arm is drawn, not
// chosen; only rows of that arm count for it, whatever was applied to their connections
// (intention to treat). A block in which the prefix changed its state has two draws and
// does not count.

// trial is what is kept of a prefix in the plan, beside its Selected.
type trial struct {
	blocks   []block         // that have connections, oldest first
	pairs    []effect.Pair   // of whole groups, as last weighed
	evidence effect.Evidence // on the rate
	goodput  effect.Evidence // on goodput over busy time
	verdict  verdict

	benefit    float64 // ln of the evidence of it, by the draw
	untilShown float64 // effect.UntilShown; holds with pairs
}

// block is one block of a prefix: all treatment or all control.
type block struct {
	effect.Block
	number   int64
	groupLen int // 0: it does not count
	arm      record.Arm
}

// shown is the evidence on both outcomes.
func (l *trial) shown() effect.Outcomes { return effect.Outcomes{Rate: l.evidence, Goodput: l.goodput} }

// put moves a prefix into another state, or keeps it in its present one; nil is out of the
// plan. It completes a verdict that led here, and keeps what a fresh start would forget.
func (e *Engine) put(t *track, s *Selected) {
	was := t.chosen
	if t.trial != nil && was.Role == record.ArmNone && (s == nil || s.From != was.From) {
		e.gone = append(e.gone, t.trial.pairs...)
	}
	t.chosen = s
	switch {
	case s == nil || s.From == 0:
		t.trial = nil
	case t.trial == nil || was == nil || was.From != s.From: // From lies at or after the end of every block so far
		t.trial = &trial{}
	case was.State != s.State:
		t.trial.verdict = verdict{}
	}
}

// file counts one window's rows of a prefix in the plan.
func (e *Engine) file(t *track, rows []*record.Window) {
	if t.trial == nil || t.chosen.Role == record.ArmHoldout || e.in.Stopped {
		return
	}
	r := e.rules.Trial
	number := e.blockOf(rows[0].Start)
	if number*r.BlockSeconds < t.chosen.From {
		return
	}
	groupLen := cmp.Or(t.chosen.Group, r.GroupLen(t.chosen))
	arm := e.draws.Arm(t.prefix, groupLen, number)
	var sum effect.Block
	for _, w := range rows {
		if counts(w, arm, t.chosen.Role) {
			sum = sum.Join(effect.BlockOf(w))
		}
	}
	if sum.N > 0 {
		t.trial.add(block{sum, number, groupLen, arm})
	}
}

// counts reports whether a row belongs to a block of an arm. An A/A prefix is never treated,
// so its rows carry no T or C.
func counts(w *record.Window, arm, role record.Arm) bool {
	if w.Carryover || w.Washout || w.Eligible == 0 || w.LogRateMean == 0 {
		return false
	}
	if role == record.ArmAA {
		return w.Arm == record.ArmAA || w.Arm == record.ArmNone
	}
	return w.Arm == arm
}

func (l *trial) add(b block) {
	n := len(l.blocks)
	if n == 0 || l.blocks[n-1].number != b.number {
		l.blocks = append(l.blocks, b)
		return
	}
	last := &l.blocks[n-1]
	if last.groupLen != b.groupLen {
		last.groupLen = 0
		return
	}
	last.Block = last.Block.Join(b.Block)
}

// regroup notes the groups that the next plan gives a prefix. Rules may have changed since, and what was measured stays in
// the groups that it was drawn in: otherwise its control blocks would pass for treated ones, and a promoted prefix
// would have no pair left.
func (e *Engine) regroup(t *track) {
	s := *t.chosen
	if s.Group = 0; s.From > 0 {
		s.Group = e.rules.Trial.GroupLen(&s)
	}
	if s != *t.chosen {
		e.put(t, &s)
	}
}

// regrouped reports whether a prefix had groups of another length after a block.
func (l *trial) regrouped(after int64, groupLen int) bool {
	return slices.ContainsFunc(l.blocks, func(b block) bool { return b.number > after && b.groupLen != groupLen })
}

// forget drops blocks that are older than what can still count.
func (l *trial) forget(oldest int64) {
	l.blocks = slices.DeleteFunc(l.blocks, func(b block) bool { return b.number < oldest })
}

// setBack drops blocks that reach beyond a time; l may be nil.
func (l *trial) setBack(unix, blockSeconds int64) {
	if l == nil {
		return
	}
	l.blocks = slices.DeleteFunc(l.blocks, func(b block) bool { return (b.number+1)*blockSeconds > unix })
	*l = trial{blocks: l.blocks}
}

// Draws are the experiment's keyed draws. loop/plan makes them, the same as for the
// plan's readers, so that both agree on a block's arm.
type Draws interface {
	// Role is ArmHoldout or ArmAA for a prefix that is drawn for it, else ArmNone.
	Role(record.Prefix) record.Arm
	// Arm is ArmTreatment or ArmControl: a prefix's in a block, in groups of so many blocks.
	Arm(p record.Prefix, groupLen int, block int64) record.Arm
	// Chance is uniform in 0..1: a prefix's in a period.
	Chance(p record.Prefix, period int64) float64
}

// role: a named prefix needs no draw.
func (e *Engine) role(p record.Prefix) record.Arm {
	if _, ok := ranges.Covering(e.rules.HoldoutPrefixes, p.Netip()); ok {
		return record.ArmHoldout
	}
	if _, ok := ranges.Covering(e.rules.AAPrefixes, p.Netip()); ok {
		return record.ArmAA
	}
	return e.draws.Role(p)
}

// GroupLen returns the number of blocks in a chosen prefix's groups. An A/A prefix keeps those of
// a trial: the plan says A/A whatever it shows, and its blocks are carried out by the plan.
func (t Trial) GroupLen(s *Selected) int {
	switch {
	case s.Role == record.ArmAA || s.State == StateTrial:
		return t.GroupTrial
	}
	return t.GroupPromoted
}

// groupSeconds returns how long a group of a trial lasts, and any other.
func (t Trial) groupSeconds() [2]int64 {
	return [2]int64{int64(t.GroupTrial) * t.BlockSeconds, int64(t.GroupPromoted) * t.BlockSeconds}
}

// blockOf is the number of the block that holds a time, Unix seconds from 0 on.
func (e *Engine) blockOf(unix int64) int64 { return unix / e.rules.Trial.BlockSeconds }

// nextBlock is the start of the first block that begins at a time or later.
func (e *Engine) nextBlock(unix int64) int64 {
	b := e.rules.Trial.BlockSeconds
	return (unix + b - 1) / b * b
}
