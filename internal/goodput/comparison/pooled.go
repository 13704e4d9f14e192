package comparison

import (
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// What a caller needs to pool the experiments of several hosts, or of several runs in the
// lab: a report covers one store.

// Placed is where a window of a network stands in the experiment.
type Placed struct {
	Group int64      // with the network, the name of its pair
	Arm   record.Arm // as drawn: T or C
	Row   record.Arm // that a row of such a window carries: the same, or A/A
}

// Drawn returns the arm drawn for a window, whatever was applied in it. ok is false if it
// does not count: not in the experiment, a block in which the network came, left
// or changed its state, or no salt. What of it began in the wash-out is for the caller to leave out.
func (b *Builder) Drawn(start int64, p record.Prefix) (at Placed, ok bool) {
	if b.cfg.ArmOf == nil || b.skip[start] {
		return at, false
	}
	for _, row := range []record.Arm{record.ArmTreatment, record.ArmControl, record.ArmAA} {
		if w, in := b.place(start, p, row); in {
			return Placed{w.key.group, w.arm, row}, true
		}
	}
	return at, false
}

// Samples returns those of one metric without tenants, weighted as a report pools them; A/A apart.
func (b *Builder) Samples(m Metric) []effect.Sample {
	return b.samples(func(of metricOf) bool { return of == metricOf{metric: m} })
}

// ShamSamples returns the same for the A/A networks, which were drawn but not treated.
func (b *Builder) ShamSamples(m Metric) []effect.Sample {
	return b.samples(func(of metricOf) bool { return of == metricOf{metric: m, aa: true} })
}

// Courses returns those of the networks whose level is known before they were chosen,
// treated and not.
func (b *Builder) Courses() (list []effect.Course) {
	for _, p := range b.sorted() {
		if c := b.means[p]; c.before.n > 0 && c.treated.n > 0 && c.control.n > 0 {
			list = append(list, effect.Course{Before: c.before.mean(), Treated: c.treated.mean(), Control: c.control.mean()})
		}
	}
	return list
}
