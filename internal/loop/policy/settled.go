package policy

import (
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Settled: fewer control blocks when it is clear. A promoted prefix settles when its pairs, those of its trial included,
// agree on a benefit that would be missed: two at least, and the lower bound of their effect, which holds whenever it is
// looked at, is some standard deviations of a treated block (loop/effect, Watch). A mean of the trial's pairs would not do,
// since a trial ends when they look good. Then one block in GroupSettled is a control
// block, and what happens between them shows in the treated ones: one that is far slower than those of the
// last EvidenceSeconds puts a promoted or settled prefix back on trial at once, with fresh evidence. Not
// where the benefit is too small to be missed in a block: there a slow block says nothing, and pairs tell.
// Where the default catches up instead, treated blocks stay as they are. So a settled prefix whose pairs no longer show
// half of such a benefit is on trial again, too: half, since two pairs vary, and those at the bar would come and go.

// watch judges a proven prefix by its treated blocks.
func (e *Engine) watch(t *track, round int64) verdict {
	earlier, last := e.treatedBlocks(t, round)
	w, ok := effect.WatchOf(earlier, e.noise)
	if !ok {
		return verdict{}
	}
	isSettled := t.chosen.State == StateSettled
	if yes, why := w.Suspicious(last); last.N > 0 && yes && (isSettled || w.Shows(t.trial.evidence.LogRatio)) {
		return verdict{kind: EventRetrial, reason: why}
	}
	if isSettled && len(t.trial.pairs) > 0 && !w.Shows(2*t.trial.evidence.LogRatio) {
		return verdict{kind: EventRetrial, reason: "its pairs no longer show half of a benefit that would be missed: " + effectText(t.trial.evidence)}
	}
	if !isSettled && e.rules.PoPGroup() == 0 && w.Shows(t.trial.evidence.Low) {
		return verdict{kind: EventSettled, reason: effectText(t.trial.evidence)}
	}
	return verdict{}
}

// treatedBlocks returns those of the last EvidenceSeconds, and by itself the one that has just ended, which has
// no connections where that was a control block.
func (e *Engine) treatedBlocks(t *track, round int64) (earlier []effect.Block, last effect.Block) {
	oldest, now := e.blockOf(max(round-e.rules.Trial.EvidenceSeconds, 0)), e.blockOf(round)
	for _, b := range t.trial.blocks {
		switch {
		case b.arm != record.ArmTreatment || b.groupLen == 0 || b.number < oldest:
		case b.number == now-1:
			last = b.Block
		case b.number < now:
			earlier = append(earlier, b.Block)
		}
	}
	return earlier, last
}
