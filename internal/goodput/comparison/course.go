package comparison

import (
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// course is what is followed of one network over the whole time: its class while untreated,
// and its level before and after it was chosen.
type course struct {
	before, treated, control level // of ln rate
	all                      level // since it was chosen, either arm
	untouched, controls      pathState
	role                     record.Arm
}

// level is a mean of logarithms, weighted by connections.
type level struct{ sum, n float64 }

func (l *level) add(mean, n float64) { l.sum, l.n = l.sum+mean*n, l.n+n }
func (l level) mean() float64        { return l.sum / l.n }

// pathState is what determines a class.
type pathState struct{ rttUs, n, retrans, sent float64 }

func (s *pathState) add(w *record.Window) {
	n := float64(w.Eligible)
	s.rttUs, s.n = s.rttUs+w.MinRTTUs*n, s.n+n
	s.retrans, s.sent = s.retrans+float64(w.EligibleRetransBytes), s.sent+float64(w.EligibleSentBytes)
}

// beforeSeconds of a network's time before it was chosen are its "before": the policy's
// history is of about that length.
const beforeSeconds = 3 * 3600

// follow books a row in its network's course. The wash-out is left out in every arm, hold-out and none too: connections count in
// their first block alone, so those of its start are younger than the others. The kernel has done so; of other rows the clock tells.
func (b *Builder) follow(w *record.Window) {
	washed := w.Washout || w.RateMeans == 0 && record.InWashout(w.Start, b.cfg.BlockSeconds, b.cfg.WashoutSeconds)
	if w.Eligible == 0 || w.Carryover || washed || w.Start >= b.cfg.To {
		return
	}
	c := b.means[w.Prefix]
	if c == nil {
		c = &course{}
		b.means[w.Prefix] = c
	}
	list, n := b.spans.of[w.Prefix], float64(w.Eligible)
	if len(list) == 0 || w.Start < list[0].from {
		if w.Control {
			c.untouched.add(w)
		}
		if w.Control && len(list) > 0 && w.LogRateMean != 0 && w.Start >= list[0].from-beforeSeconds {
			c.before.add(w.LogRateMean, n)
		}
		return
	}
	if w.Start < b.cfg.From || w.LogRateMean == 0 {
		return
	}
	c.role = list[len(list)-1].role
	c.all.add(w.LogRateMean, n)
	if w.Control {
		c.controls.add(w)
	}
	switch w.Arm {
	case record.ArmTreatment:
		c.treated.add(w.LogRateMean, n)
	case record.ArmControl:
		c.control.add(w.LogRateMean, n)
	}
}

// Class returns the class of a network's path by its round trip and retransmitted share
// under the default: from before it was chosen if known, else from its control blocks.
func (b *Builder) Class(p record.Prefix) string {
	c := b.means[p]
	if c == nil {
		return ""
	}
	s := c.untouched
	if s.n == 0 {
		s = c.controls
	}
	if s.n == 0 || s.sent == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s", step(s.rttUs/s.n, rttSteps), step(s.retrans/s.sent, lossSteps))
}

type bound struct {
	below float64
	name  string
}

// Steps of a class: the same city, the same continent, farther; and where CUBIC is at its
// best, losing, and failing (its response function at 50 ms gives 9 Mbit/s at 0.1 %, 1.7 at
// 1 %).
var (
	rttSteps  = []bound{{20_000, "below 20 ms"}, {100_000, "20-100 ms"}, {1e300, "above 100 ms"}}
	lossSteps = []bound{{0.001, "clean"}, {0.01, "0.1-1 % lost"}, {2, "above 1 % lost"}}
)

func step(v float64, steps []bound) string {
	i := slices.IndexFunc(steps, func(s bound) bool { return v < s.below })
	return steps[max(i, 0)].name
}

func (b *Builder) sorted() []record.Prefix {
	list := make([]record.Prefix, 0, len(b.means))
	for p := range b.means {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

// holdOut compares networks that were chosen and held out with those that were chosen and
// could be treated.
func (b *Builder) holdOut() effect.Contrast {
	var held, open []float64
	for _, p := range b.sorted() {
		switch c := b.means[p]; {
		case c.all.n == 0 || c.role == record.ArmAA:
		case c.role == record.ArmHoldout:
			held = append(held, c.all.mean())
		default:
			open = append(open, c.all.mean())
		}
	}
	return effect.HoldOut(held, open)
}
