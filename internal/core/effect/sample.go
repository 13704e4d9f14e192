package effect

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// Sample is one response or one connection in an estimate.
type Sample struct {
	Prefix record.Prefix
	Group  int64
	Arm    record.Arm // ArmTreatment or ArmControl, as assigned; of an A/A prefix what its block would have been
	Value  float64    // the rate, or whatever is compared; greater than zero
	Weight float64    // see Weight
}

// Weight is 1/P(arm) for a group whose share of treatment blocks is share. Slow prefixes
// are promoted and then treated 7 blocks of 8, so among the treated they are many and
// among the controls few: counted alike, a treatment that does nothing looks harmful.
// Source: Horvitz and Thompson, JASA 47 (1952).
func Weight(arm record.Arm, share float64) float64 {
	if arm == record.ArmTreatment {
		return 1 / share
	}
	return 1 / (1 - share)
}

// key names a pair.
type key struct {
	prefix record.Prefix
	group  int64
}

// sorted is one arm's samples by value, column by column: the bootstrap walks over them
// thousands of times.
type sorted struct {
	values, weights []float64
	pairs           []int32
}

// arms are the samples of complete pairs.
type arms struct {
	pairs   int
	partial int // groups left out because one arm saw nothing
	t, c    sorted
}

// byPair numbers the pairs that have both arms, in order of prefix and group, and
// sorts the samples. Samples that can carry no ratio are left out.
func byPair(samples []Sample) (a arms) {
	seen := map[key]uint8{}
	for _, s := range samples {
		if s.counts() {
			seen[key{s.Prefix, s.Group}] |= 1 << s.Arm
		}
	}
	var whole []key
	for k, both := range seen {
		if both == 1<<record.ArmTreatment|1<<record.ArmControl {
			whole = append(whole, k)
		}
	}
	slices.SortFunc(whole, func(x, y key) int {
		return cmp.Or(cmp.Compare(x.prefix, y.prefix), cmp.Compare(x.group, y.group))
	})
	number := map[key]int{}
	for i, k := range whole {
		number[k] = i
	}
	a.pairs, a.partial = len(whole), len(seen)-len(whole)
	kept := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
		_, ok := number[key{s.Prefix, s.Group}]
		return !ok || !s.counts()
	})
	slices.SortFunc(kept, bySize)
	for _, s := range kept {
		arm := &a.c
		if s.Arm == record.ArmTreatment {
			arm = &a.t
		}
		arm.values = append(arm.values, s.Value)
		arm.weights = append(arm.weights, s.Weight)
		arm.pairs = append(arm.pairs, int32(number[key{s.Prefix, s.Group}]))
	}
	return a
}

func (s Sample) counts() bool {
	return s.Value > 0 && s.Weight > 0 && (s.Arm == record.ArmTreatment || s.Arm == record.ArmControl)
}

// bySize orders by value and leaves no two orders possible that would add up differently.
func bySize(a, b Sample) int {
	return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Weight, b.Weight))
}
