package outcome

import (
	"math"
	"slices"
	"sort"
)

// arrivedAt is how many payload bytes the receiver had at a moment (us), on a straight
// line between the marks around it.
func (f *FlowRun) arrivedAt(us float64) float64 {
	i := sort.Search(len(f.Arrived), func(i int) bool { return float64(f.Arrived[i].AtUs) > us })
	before := Mark{AtUs: f.start()}
	if i > 0 {
		before = f.Arrived[i-1]
	}
	if i == len(f.Arrived) || us <= float64(before.AtUs) {
		return float64(before.Bytes)
	}
	after := f.Arrived[i]
	part := (us - float64(before.AtUs)) / float64(after.AtUs-before.AtUs)
	return float64(before.Bytes) + part*float64(after.Bytes-before.Bytes)
}

// start is when the flow's first connection began.
func (f *FlowRun) start() uint64 {
	if len(f.Conns) == 0 {
		return 0
	}
	return f.Conns[0].StartUs
}

// end is when its last byte arrived.
func (f *FlowRun) end() (us uint64) {
	for _, t := range f.Conns {
		us = max(us, t.EndUs)
	}
	return us
}

// open is for how long at least one of the connections was open, in us: gaps between
// connections are no one's time.
func open(conns []Transfer) (us float64) {
	conns = slices.Clone(conns)
	slices.SortFunc(conns, func(a, b Transfer) int { return int(int64(a.StartUs) - int64(b.StartUs)) })
	var until uint64
	for _, t := range conns {
		if from := max(t.StartUs, until); t.EndUs > from {
			us += float64(t.EndUs - from)
			until = t.EndUs
		}
	}
	return us
}

// perS is bytes over us as bit/s; 0 where there was no time.
func perS(bytes, us float64) float64 {
	if us <= 0 || math.IsNaN(bytes) {
		return 0
	}
	return bytes * 8e6 / us
}
