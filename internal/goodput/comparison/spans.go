package comparison

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// span is a time in which a network was chosen in one state.
type span struct {
	from, to int64 // Unix seconds; to is open for the last
	state    policy.State
	role     record.Arm
	group    int   // blocks in its groups
	counts   int64 // start of the first block that counts
}

const forever = 1<<63 - 1

// spans keep which networks were chosen when: the rounds, reduced to changes.
type spans struct {
	of   map[record.Prefix][]span
	open map[record.Prefix]bool
}

func newSpans() spans {
	return spans{of: map[record.Prefix][]span{}, open: map[record.Prefix]bool{}}
}

// round takes the selection of one round, in the order of time. groupLen is of one that does not say it.
func (s *spans) round(start int64, chosen []policy.Selected, groupLen func(policy.State, record.Arm) int) {
	still := make(map[record.Prefix]bool, len(chosen))
	for i := range chosen {
		c := &chosen[i]
		still[c.Prefix] = true
		next := span{from: start, to: forever, state: c.State, role: c.Role, group: cmp.Or(c.Group, groupLen(c.State, c.Role)), counts: c.From}
		if c.Uncontrolled {
			next.counts = forever // no block of it is compared with another
		}
		list := s.of[c.Prefix]
		if n := len(list); n > 0 && s.open[c.Prefix] {
			last := &list[n-1]
			if last.state == next.state && last.group == next.group && last.role == next.role && last.counts == next.counts {
				continue
			}
			last.to = start
		}
		s.of[c.Prefix], s.open[c.Prefix] = append(list, next), true
	}
	for p := range s.open {
		if !still[p] {
			list := s.of[p]
			list[len(list)-1].to = start
			delete(s.open, p)
		}
	}
}

// whole returns the span that covers all of a block from its start to its end, and whose draws decide there: the network's own, or
// those of all.
func (s *spans) whole(p record.Prefix, start, end int64) (sp span, drawn record.Prefix, ok bool) {
	for _, drawn = range []record.Prefix{p, record.All} {
		for _, sp = range slices.Backward(s.of[drawn]) {
			if sp.from < end && start < sp.to {
				return sp, drawn, sp.from <= start && sp.to >= end && start >= sp.counts
			}
		}
	}
	return span{}, 0, false
}
