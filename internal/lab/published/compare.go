package published

import (
	"fmt"
	"sync"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
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

// Compare sets each valid row of s beside the value that it reproduces, and reports whether
// the shape holds. It returns nothing if the scenario names no table.
func Compare(s outcome.Summary) ([]Comparison, Shape) {
	t, ok := Find(s.Scenario.Published)
	if !ok {
		return nil, Shape{}
	}
	var list []Comparison
	for i := range s.Rows {
		if c := s.Scenario.Cell(s.Rows[i].Cell); c != nil {
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

// factor returns the article's link / ours.
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

// Why a published value differs: data/residuals.csv.

type residual struct{ table, key, cong string }

// reason is one text; trains means that it is the loss of whole super-packets.
type reason struct {
	trains bool
	text   string
}

var residuals = sync.OnceValue(readResiduals)

func readResiduals() map[residual]reason {
	all := map[residual]reason{}
	_, records := read("residuals.csv")
	for _, r := range records[1:] {
		all[residual{r[0], r[1], r[2]}] = reason{r[3] == "trains", r[4]}
	}
	return all
}

// why returns the reason for a difference. A cell that loses super-packets too no longer
// differs from the article in that, but because TCP now paces BBR unless it is kept from it.
func (t *Table) why(c *scenario.Cell, key, cong string) string {
	r := residuals()[residual{t.Name, key, cong}]
	switch alike := c.Sender.SuperPackets && c.Path.Loss.At == scenario.LossSender; {
	case alike && cong == bbr && !c.Unpaced(bbr):
		return pacedHere
	case alike && (r.trains || cong == bbr):
		return ""
	}
	return r.text
}

// pacedHere: tcp_bbr.c asks for pacing since 4.13, and netem does not report that it paces.
const pacedHere = "BBR of 4.9 was not paced there; since Linux 4.13 TCP paces it itself where fq does not"
