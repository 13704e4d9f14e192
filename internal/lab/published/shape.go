package published

import (
	"fmt"
	"slices"
	"strings"
)

// The shape of a table is what its readers learn from it:
//
//	who wins     in each group with both congestion controls: CUBIC, BBR, or a tie
//	which order  for each arm, every two rows of the table: the first better, or worse
//
// Where one of the two says "tie", an order is not contradicted; a winner is.

// Shape is how much of it holds.
type Shape struct {
	Holds    bool     `json:"holds"`
	Same     int      `json:"same"`
	Of       int      `json:"of"`
	Text     string   `json:"text"`
	Contrary []string `json:"contrary,omitempty"` // each statement that does not hold
}

func (s *Shape) add(same bool, contrary string, args ...any) {
	s.Of++
	if same {
		s.Same++
	} else {
		s.Contrary = append(s.Contrary, fmt.Sprintf(contrary, args...))
	}
}

func shapeOf(list []Comparison, t Table) (s Shape) {
	s.winners(list)
	s.orders(list, t)
	s.Holds = s.Of > 0 && s.Same == s.Of
	switch {
	case s.Of == 0:
		s.Text = "nothing to compare"
	case s.Holds:
		s.Text = fmt.Sprintf("the published shape holds: %d of %d winners and orders", s.Same, s.Of)
	default:
		s.Text = fmt.Sprintf("the published shape holds in %d of %d winners and orders; not: %s", s.Same, s.Of, strings.Join(s.Contrary, "; "))
	}
	return s
}

// winners compares CUBIC with BBR if a group has both.
func (s *Shape) winners(list []Comparison) {
	for _, a := range list {
		j := slices.IndexFunc(list, func(b Comparison) bool { return b.Group == a.Group && b.cong == bbr })
		if a.cong != cubic || j < 0 {
			continue
		}
		b := list[j]
		there, here := a.unit.better(b.Published, a.Published), a.unit.better(b.Ours, a.Ours)
		s.add(there == here, "%s: published %s, here %s", a.Group, winnerWords[there+1], winnerWords[here+1])
	}
}

var winnerWords = [...]string{"CUBIC is faster", "a tie", "BBR is faster"}

// orders compares every two rows of an arm.
func (s *Shape) orders(list []Comparison, t Table) {
	for i, a := range list {
		for _, b := range list[i+1:] {
			if a.Arm != b.Arm || a.row == b.row {
				continue
			}
			there, here := a.unit.better(a.Published, b.Published), a.unit.better(a.Ours, b.Ours)
			s.add(there*here >= 0, "%s: %s is not %s %s", a.Arm, t.Rows[a.row].Key, orderWords[there+1], t.Rows[b.row].Key)
		}
	}
}

var orderWords = [...]string{"slower than", "as fast as", "faster than"}
