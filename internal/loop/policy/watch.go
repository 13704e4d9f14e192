package policy

import (
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// A promoted prefix has few control blocks, and what happens between them shows in the treated ones: one that is far slower than those of the
// last EvidenceSeconds puts it back on trial at once, with fresh evidence. Not where the benefit is too small to be missed in a block
// (loop/effect, Watch): there a slow block says nothing, and pairs tell.

// watch judges a promoted prefix by its treated blocks.
func (e *Engine) watch(t *track, round int64) verdict {
	earlier, last := e.treatedBlocks(t, round)
	w, ok := effect.WatchOf(earlier, e.noise)
	if !ok || last.N == 0 || !w.Shows(t.trial.evidence.LogRatio) {
		return verdict{}
	}
	if yes, why := w.Suspicious(last); yes {
		return verdict{kind: EventRetrial, reason: why}
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
