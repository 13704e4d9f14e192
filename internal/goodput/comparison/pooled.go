package comparison

import (
	"github.com/congctl/congctl/internal/core/effect"
	"github.com/congctl/congctl/internal/core/record"
)

// What a caller needs to pool the experiments of several hosts, or of several runs in
// the lab: a report is of one store.

// Placed is where a window of a network stands in the experiment.
type Placed struct {
	Group int64      // with the network, the name of its pair
	Arm   record.Arm // as drawn: T or C
	Row   record.Arm // that a row of such a window carries: the same, or A/A
}

// Drawn says which arm was drawn for a window, whatever was applied in it. ok is false
// where it counts nowhere: not in the experiment, wash-out, a block in which the network
// came, left or changed its state, or no salt.
func (b *Builder) Drawn(start int64, p record.Prefix) (at Placed, ok bool) {
	if b.cfg.Draws == nil || b.skip[start] {
		return at, false
	}
	for _, row := range []record.Arm{record.ArmTreatment, record.ArmControl, record.ArmAA} {
		if w, in := b.place(start, p, row); in {
			return Placed{w.key.group, w.arm, row}, true
		}
	}
	return at, false
}

// Samples of one metric without tenants, weighted as a report pools them; A/A apart.
func (b *Builder) Samples(m Metric) []effect.Sample {
	return b.samples(metricOf{metric: m})
}

// ShamSamples are the same of the networks for A/A, which were drawn and not treated.
func (b *Builder) ShamSamples(m Metric) []effect.Sample {
	return b.samples(metricOf{metric: m, aa: true})
}

func (b *Builder) samples(of metricOf) []effect.Sample {
	return b.cells.samples(of, func(record.Prefix) bool { return true }, b.weight)
}

// Pairs of the experiment that have both arms, in order of time and network.
func (b *Builder) Pairs() []effect.Pair { return b.listPairs(false) }

// Courses of the networks whose level is known before they were chosen, treated and not.
func (b *Builder) Courses() (list []effect.Course) {
	for _, p := range b.sorted() {
		if c := b.means[p]; c.before.n > 0 && c.treated.n > 0 && c.control.n > 0 {
			list = append(list, effect.Course{Before: c.before.mean(), Treated: c.treated.mean(), Control: c.control.mean()})
		}
	}
	return list
}

// CostOf pairs, each side weighted by 1/P(arm).
func CostOf(pairs []effect.Pair) Cost { return costOf(pairs) }

// Rebuilt gives the delivery rates that a row stands for, bytes/s, each for weight connections.
func Rebuilt(w *record.Window) (values []float64, weight float64) { return rebuilt(w) }
