package policy

import (
	"math"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// exit is what the evidence calls for, whatever is believed.
func (o *triedOracle) exit(p record.Prefix, noise effect.Noise, round int64) EventKind {
	s := o.plan[p]
	pairs, promoted := o.known[p], s.State == StatePromoted
	if s.State == StateAlways {
		return ""
	}
	cost := pairs
	if promoted {
		cost = pairs[max(0, len(pairs)-2):]
	}
	if costly, _ := effect.FastHarm(cost, noise, o.loss); costly || o.harm(pairs, noise) >= 20 {
		return EventDemoted
	}
	if !promoted {
		return ""
	}
	faded, _ := effect.Faded(pairs, noise)
	suspected, sd := o.watch(p, noise, round)
	suspected = suspected && effect.Judge(pairs, noise).LogRatio >= 2.5*sd
	if faded || suspected || len(pairs) == 0 && round-s.Since >= o.rules.Trial.EvidenceSeconds {
		return EventRetrial
	}
	return ""
}

// harm is the evidence of harm: the mean of that in both outcomes, from two pairs that know goodput.
func (o *triedOracle) harm(pairs []effect.Pair, noise effect.Noise) float64 {
	rate := math.Exp(effect.Judge(pairs, noise).LogEHarm)
	other := effect.Judge(effect.ByGoodput(pairs), o.goodput)
	if other.Pairs < 2 {
		return rate
	}
	return (rate + math.Exp(other.LogEHarm)) / 2
}

// watch reports whether the block that has just ended is far slower than the treated ones before, and the standard
// deviation of one of these, which is infinite if there are too few.
func (o *triedOracle) watch(p record.Prefix, n effect.Noise, round int64) (suspected bool, sd float64) {
	t := o.rules.Trial
	variance := func(b block) float64 { return n.Block*n.Block + n.Conn*n.Conn/float64(b.N) }
	var before, last []block
	for _, b := range o.blocks(p) {
		switch end := (b.number + 1) * t.BlockSeconds; {
		case b.arm != record.ArmTreatment || end <= round-t.EvidenceSeconds || end > round:
		case end+t.BlockSeconds > round:
			last = append(last, b)
		default:
			before = append(before, b)
		}
	}
	k, mean, each, squares := float64(len(before)), 0.0, 0.0, 0.0
	if k < 2 {
		return false, math.Inf(1)
	}
	for _, b := range before {
		mean, each = mean+b.MeanLog/k, each+variance(b)/k
	}
	for _, b := range before {
		squares += math.Pow(b.MeanLog-mean, 2) / variance(b)
	}
	factor := math.Max(1, (20+squares)/(19+k))
	for _, b := range last {
		drop := mean - b.MeanLog
		suspected = drop >= 0.25 && drop >= 3.7*math.Sqrt(factor*(variance(b)+each/k))
	}
	return suspected, math.Sqrt(factor * each)
}
