package policy

import (
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Evidence is weighed when a block has ended, and acted on in the first round that may
// decide: at once, except for a frozen plan or an unknown window. The next block then
// runs under the new state.
//
// Pairs are both arms of one prefix in one group of blocks, the newest EvidenceSeconds of
// them. A sequential test (loop/effect) judges what a prefix shows; it may be looked at
// any time, so that a look at each block's end is free. Belief moves a prefix (share.go); harm in the rate or in
// goodput ends its treatment, whatever is believed.

// verdict is what the evidence calls for; the zero value is nothing.
type verdict struct {
	kind   EventKind
	reason string
	keeps  bool // of a retrial: the evidence stays
}

// weigh renews the evidence of all prefixes if a block has ended since the last time.
func (e *Engine) weigh(round int64) {
	if !e.rules.Experiment() || e.blockOf(round) == e.weighed {
		return
	}
	e.weighed = e.blockOf(round)
	e.turnOf(e.blockOf(round) * e.rules.Trial.BlockSeconds)
	var judged []*track
	var all []effect.Pair
	for _, t := range e.tracks {
		if t.trial != nil && t.chosen.Role != record.ArmHoldout {
			t.trial.pairs = e.pairs(t, round)
			judged, all = append(judged, t), append(all, t.trial.pairs...)
		}
	}
	e.noise, e.goodput, e.loss = effect.EstimateNoise(all), effect.EstimateNoise(effect.ByGoodput(all)), effect.EstimateLoss(all)
	for _, t := range judged {
		o := effect.JudgeBoth(t.trial.pairs, e.noise, e.goodput)
		t.trial.evidence, t.trial.goodput = o.Rate, o.Goodput
	}
	e.harm = e.harm.Next(e.treatedPairs())
	e.gone = slices.DeleteFunc(e.gone, func(p effect.Pair) bool { return p.End <= round-e.rules.Trial.EvidenceSeconds })
	e.claims(judged, round)
	e.learn()
	for _, t := range judged {
		t.trial.verdict = e.exit(t, round)
	}
}

// pairs returns those of whole groups, oldest first. Of groups that are longer than any of the present rules' those
// count whose blocks are all within what a replay sees.
func (e *Engine) pairs(t *track, round int64) []effect.Pair {
	r := e.rules.Trial
	oldest := e.blockOf(max(round-r.EvidenceSeconds, 0)) - int64(r.longest())
	t.trial.forget(oldest)
	var out []effect.Pair
	list := t.trial.blocks
	for len(list) > 0 {
		groupLen, group := list[0].group()
		n := 1
		for n < len(list) {
			if l, g := list[n].group(); l != groupLen || g != group {
				break
			}
			n++
		}
		p := effect.Pair{Prefix: t.prefix, Drawn: e.rules.Drawn(), Group: group, End: (group + 1) * int64(groupLen) * r.BlockSeconds}
		for _, b := range list[:n] {
			if b.arm == record.ArmControl {
				p.C = b.Block
			} else {
				p.T = append(p.T, b.Block)
			}
		}
		if groupLen > 0 && p.Usable() && p.End <= round && p.End > round-r.EvidenceSeconds && group*int64(groupLen) >= oldest {
			out = append(out, p)
		}
		list = list[n:]
	}
	return out
}

func (b block) group() (groupLen int, number int64) {
	if b.groupLen == 0 {
		return 0, b.number
	}
	return b.groupLen, b.number / int64(b.groupLen)
}

// needed is ln of the evidence that one prefix needs by itself.
var needed = -math.Log(effect.Alpha)

// exit reports whether the evidence ends the present state of a prefix.
func (e *Engine) exit(t *track, round int64) verdict {
	l := t.trial
	if t.chosen.State == StateAlways {
		return verdict{}
	}
	if o := l.shown(); o.LogEHarm() >= needed {
		return verdict{kind: EventDemoted, reason: "harm: " + worseText(o)}
	}
	if harm, why := effect.FastHarm(e.costPairs(t), e.noise, e.loss); harm {
		return verdict{kind: EventDemoted, reason: "cost: " + why}
	}
	if v := e.share(t); v.kind != "" {
		return v
	}
	if t.chosen.State != StatePromoted {
		return verdict{}
	}
	if evidence := e.rules.Trial.EvidenceSeconds; len(l.pairs) == 0 && round-t.chosen.Since >= evidence &&
		!l.regrouped(e.blockOf(round-evidence), e.rules.Trial.GroupLen(t.chosen)) { // else draws of another kind in the hours before
		return verdict{kind: EventRetrial, reason: fmt.Sprintf("no pair in the last %s to show a benefit", durationText(evidence))}
	}
	if faded, why := effect.Faded(l.pairs, e.noise); faded {
		return verdict{kind: EventRetrial, reason: why}
	}
	return e.watch(t, round)
}

// costPairs returns the pairs that the cost is judged by: all of a trial, since there are
// few; the last two of a promoted prefix, since the cost may be new.
func (e *Engine) costPairs(t *track) []effect.Pair {
	p := t.trial.pairs
	if t.chosen.State == StatePromoted && len(p) > 2 {
		return p[len(p)-2:]
	}
	return p
}

// worseText prints the estimate of the outcome that shows more harm.
func worseText(o effect.Outcomes) string {
	v, goodput := o.Worse()
	if goodput {
		return outcomeText("goodput", v)
	}
	return effectText(v)
}

// effectText prints an estimate of the rate with its bounds.
func effectText(v effect.Evidence) string { return outcomeText("rate", v) }

func outcomeText(name string, v effect.Evidence) string {
	if v.Pairs < 2 {
		return fmt.Sprintf("%s, at least 2 needed", answer.Count(v.Pairs, "pair"))
	}
	rate, pairs := fmt.Sprintf("%s x %.2f", name, math.Exp(v.LogRatio)), answer.Count(v.Pairs, "pair")
	if math.IsInf(v.High, 1) {
		return rate + " (no bounds yet, " + pairs + ")"
	}
	return rate + fmt.Sprintf(" (%.2f to %.2f, %s)", math.Exp(v.Low), math.Exp(v.High), pairs)
}
