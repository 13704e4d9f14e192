package published

import (
	"fmt"

	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
)

// Comparison is one published value beside ours.
type Comparison struct {
	Group     string  `json:"group"`
	Arm       string  `json:"arm"`
	Published float64 `json:"published"`
	Ours      float64 `json:"ours"`   // in the same unit, scaled by Factor
	Ratio     float64 `json:"ratio"`  // Ours / Published
	Factor    float64 `json:"factor"` // the article's link / ours
	Note      string  `json:"note,omitempty"`

	row  int
	cong string
	unit Unit
}

// Compare sets each valid row of s beside the value that it reproduces, and says whether
// the shape holds. Nothing where the scenario names no table.
func Compare(s outcome.Summary) ([]Comparison, Shape) {
	t, ok := Find(s.Scenario.Published)
	if !ok {
		return nil, Shape{}
	}
	cells := map[string]*scenario.Cell{}
	for i := range s.Scenario.Cells {
		cells[s.Scenario.Cells[i].ID] = &s.Scenario.Cells[i]
	}
	var list []Comparison
	for i := range s.Rows {
		if c, known := cells[s.Rows[i].Cell]; known {
			list = t.add(list, c, &s.Rows[i])
		}
	}
	return list, shapeOf(list, t)
}

func (t *Table) add(list []Comparison, c *scenario.Cell, r *outcome.Row) []Comparison {
	row, v, ok := t.value(c)
	measured := r.Goodput
	if t.Unit.wire {
		measured = r.Wire
	}
	if !ok || measured == nil || measured.Median <= 0 {
		return list
	}
	factor := t.factor(c)
	ours := t.Unit.of(measured.Median * factor)
	return append(list, Comparison{
		Group: r.Group, Arm: r.Arm, Published: v.Mid(), Ours: ours, Ratio: ours / v.Mid(), Factor: factor,
		Note: t.note(v, t.why(c, t.Rows[row].Key, v.Cong)), row: row, cong: v.Cong, unit: t.Unit,
	})
}

// factor is the article's link / ours.
func (t *Table) factor(c *scenario.Cell) float64 {
	if t.LinkBitPerS == 0 {
		return 1
	}
	return t.LinkBitPerS / float64(c.Path.RateBitPerS)
}

func (t *Table) note(v Value, why string) string {
	if v.Low == v.High {
		return why
	}
	seen := fmt.Sprintf("published: %g to %g %s", v.Low, v.High, t.Unit.Name)
	if why != "" {
		seen += "; " + why
	}
	return seen
}
