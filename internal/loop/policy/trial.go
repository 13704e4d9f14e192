package policy

import (
	"slices"

	"github.com/congctl/congctl/internal/core/effect"
	"github.com/congctl/congctl/internal/core/record"
)

// Trial: level decides entry, effect decides exit.
//
//	              +--------------- second look ----------------+
//	              v                                            |
//	level --> on trial --(benefit shown, e-BH)--> promoted ----+
//	              |                                  |
//	              +--(harm; no benefit in time)--+---+--(harm; benefit gone)
//	              |                              v
//	              +--(level rose)--> out     cooling down
//
// This file holds what a prefix carries meanwhile: its blocks. A block's arm is
// drawn, not chosen; only rows of that arm count for it, whatever was applied to
// their connections (intention to treat). A block in which the prefix changed its
// state has two draws and counts nowhere.

// trial is what is kept of a prefix in the plan, beside its Selected.
type trial struct {
	blocks   []block       // that have connections, oldest first
	pairs    []effect.Pair // of whole groups, as last weighed
	evidence effect.Evidence
	verdict  verdict
}

// block is one block of a prefix: all treatment or all control.
type block struct {
	effect.Block
	number   int64
	groupLen int // 0: it counts nowhere
	arm      record.Arm
}

// become puts a prefix into another state, or keeps it in its present one; nil is
// out of the plan. A verdict that led here is carried out with it.
func (t *track) become(s *Selected) {
	was := t.chosen
	t.chosen = s
	switch {
	case s == nil || s.State == "":
		t.trial = nil
		return
	case t.trial == nil || was == nil:
		t.trial = &trial{}
	case was.From != s.From:
		t.trial = &trial{} // From lies at or behind the end of every block so far
	case was.State != s.State:
		t.trial.verdict = verdict{}
	}
}

// file counts one window's rows of a prefix in the plan.
func (e *Engine) file(t *track, rows []*record.Window) {
	if t.trial == nil || t.chosen.Role == record.ArmHoldout || e.hold.stopped {
		return
	}
	r := e.rules.Trial
	number := e.blockOf(rows[0].Start)
	if start := number * r.BlockSeconds; start < t.chosen.From || rows[0].Start < start+r.WashoutSeconds {
		return
	}
	groupLen := e.groupLen(t.chosen)
	arm := e.draws.Arm(t.prefix, groupLen, number)
	var sum effect.Block
	for _, w := range rows {
		if counts(w, arm, t.chosen.Role) {
			sum = sum.Join(blockOf(w))
		}
	}
	if sum.N > 0 {
		t.trial.add(block{sum, number, groupLen, arm})
	}
}

// counts says whether a row belongs to a block of an arm. Nothing is ever done to
// an A/A prefix, so its rows carry no T or C.
func counts(w *record.Window, arm, role record.Arm) bool {
	if w.Carryover || w.Washout || w.Eligible == 0 || w.LogRateMean == 0 {
		return false
	}
	if role == record.ArmAA {
		return w.Arm == record.ArmAA || w.Arm == record.ArmNone
	}
	return w.Arm == arm
}

func blockOf(w *record.Window) effect.Block {
	return effect.Block{N: int(w.Eligible), MeanLog: w.LogRateMean, VarLog: w.LogRateVar,
		SentBytes: w.EligibleSentBytes, RetransBytes: w.EligibleRetransBytes, SRTTUs: w.SRTTUs, MinRTTUs: w.MinRTTUs}
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
	l.pairs, l.evidence, l.verdict = nil, effect.Evidence{}, verdict{}
}
