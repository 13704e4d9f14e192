package policy

import (
	"math"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// watch reports whether the block that has just ended is far slower than the treated ones before, and the standard
// deviation of one of these, which is infinite if there are too few.
func (o *triedOracle) watch(p record.Prefix, n effect.Noise, round int64) (suspected bool, sd float64) {
	t := o.rules.Trial
	variance := func(b block) float64 { return n.Block*n.Block + n.Conn*n.Conn/float64(b.N) }
	var before, last []block
	for _, b := range o.blocks(p) {
		switch end := (b.number + 1) * t.BlockSeconds; {
		case b.arm != record.ArmTreatment || end <= round-t.EvidenceSeconds:
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
		suspected = drop >= 0.25 && drop >= 3.5*math.Sqrt(factor*(variance(b)+each/k))
	}
	return suspected, math.Sqrt(factor * each)
}
