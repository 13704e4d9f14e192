package effect

import (
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// What a pooled estimate means depends on what was pooled:
//
//	samples                                         | a ratio beside 1 means
//	responses of 100,000 bytes and more             | the effect
//	all responses                                   | the effect on all, mostly of small ones
//	first 100,000 bytes of responses (a placebo)    | neighbours changed the path before the switch
//	A/A prefixes, arms as drawn, nothing applied    | the measurement is wrong
//	untreated connections of treated prefixes       | what the treated ones do to them

// headline is the index of the quantile that the verdicts below look at. One, named
// before the data: three intervals of 95 % would be wrong in up to 15 % of cases.
const headline = 1 // p10

// excludes1 reports which side of 1 the headline's interval lies on: -1, 0, 1.
func (p Pooled) excludes1() int {
	r := p.Ratios[headline]
	switch {
	case r.Low == 0 && r.High == 0, r.Low <= 1 && r.High >= 1:
		return 0
	case r.High < 1:
		return -1
	}
	return 1
}

// Faulty reads an A/A estimate: an effect, where nothing was done, is a fault of the
// measurement; one in twenty sound ones shows it all the same.
func (p Pooled) Faulty() bool { return p.excludes1() != 0 }

// Slower reads a neighbours' estimate: untreated connections are slower beside treated ones.
func (p Pooled) Slower() bool { return p.excludes1() < 0 }

// Labelled is the estimate for the prefixes of one label.
type Labelled struct {
	Label string
	Pooled
}

// ByLabel pools each label's samples on their own, labels in order. Prefixes without a
// label stand under "". Many labels are many intervals: one in twenty misses its truth.
func ByLabel(samples []Sample, label func(record.Prefix) string, seed uint64) []Labelled {
	groups := map[string][]Sample{}
	var names []string
	for _, s := range samples {
		name := label(s.Prefix)
		if _, ok := groups[name]; !ok {
			names = append(names, name)
		}
		groups[name] = append(groups[name], s)
	}
	slices.Sort(names)
	list := make([]Labelled, 0, len(names))
	for _, name := range names {
		list = append(list, Labelled{name, Pool(groups[name], seed)})
	}
	return list
}
