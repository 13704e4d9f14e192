package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// same is how near to 1 both ends of a ratio's interval must be for two folders to
// agree; a winner needs as much.
const same = 0.05

// Verdicts of a cell in two folders.
const (
	identical = "identical"       // every seed's goodput, to the last bit
	alikeWord = "same within 5 %" // the whole interval
	faster    = "faster"          // the whole interval is above 1
	slower    = "slower"
	unclear   = "unclear" // the interval holds 1 and more than 5 % beside it: more seeds
	// A side of one run has no interval, so the ratio has none that means anything.
	oneRun    = outcome.OneRun
	oneFirst  = "one run in the first"
	oneSecond = "one run in the second"
)

// Comparison is two folders cell by cell, in the order of the first one's cells.
type Comparison struct {
	Differences []string   `json:"differences"` // of the manifests: first, second
	Rows        []Compared `json:"rows"`
	Winners     []string   `json:"winners"`  // groups with another winner, in words
	Verdicts    []string   `json:"verdicts"` // cells that theory judges otherwise, in words
}

// Compared is one cell: its goodput in both, and the second's divided by the first's.
type Compared struct {
	Cell    string            `json:"cell"`
	A       *outcome.Interval `json:"a_goodput_bit_per_s,omitempty"`
	B       *outcome.Interval `json:"b_goodput_bit_per_s,omitempty"`
	Ratio   *outcome.Interval `json:"ratio,omitempty"`
	Paired  bool              `json:"paired"` // same seeds, which drew the same losses
	Verdict string            `json:"verdict"`
}

// Compare sets b against a.
func Compare(a, b *Folder) *Comparison {
	c := &Comparison{Differences: a.Manifest.Differences(&b.Manifest), Winners: []string{}, Verdicts: []string{}, Rows: []Compared{}}
	pairs := a.paired() && b.paired()
	for _, r := range a.Summary.Rows {
		c.Rows = append(c.Rows, compared(r.Cell, a, b, pairs))
		if other := b.row(r.Cell); other != nil && other.Theory != nil && r.Theory != nil && other.Theory.Verdict != r.Theory.Verdict && other.Theory.Verdict != "" && r.Theory.Verdict != "" {
			c.Verdicts = append(c.Verdicts, fmt.Sprintf("%s: %s, %s", r.Cell, r.Theory.Verdict, other.Theory.Verdict))
		}
	}
	for _, r := range b.Summary.Rows {
		if a.row(r.Cell) == nil {
			c.Rows = append(c.Rows, compared(r.Cell, a, b, pairs))
		}
	}
	for _, w := range a.Summary.Winners {
		i := slices.IndexFunc(b.Summary.Winners, func(x outcome.Winner) bool { return x.Group == w.Group })
		if i >= 0 && b.Summary.Winners[i].Arm != w.Arm {
			c.Winners = append(c.Winners, fmt.Sprintf("%s: %s, %s", w.Group, winnerText(w), winnerText(b.Summary.Winners[i])))
		}
	}
	return c
}

// Apart counts the cells without a number or in which one folder is faster beyond doubt, and
// those and the groups that are judged otherwise.
func (c *Comparison) Apart() int {
	n := len(c.Winners) + len(c.Verdicts)
	for _, r := range c.Rows {
		if r.Ratio == nil || r.Verdict == faster || r.Verdict == slower {
			n++
		}
	}
	return n
}

// winnerText is a winner and the reservations about it.
func winnerText(w outcome.Winner) string {
	if w.Note == "" {
		return w.Arm
	}
	return fmt.Sprintf("%s (%s)", cmp.Or(w.Arm, "none"), w.Note)
}

// paired reports whether the folder's world drew the same losses for the same seed.
func (f *Folder) paired() bool {
	return slices.ContainsFunc(f.Summary.Rows, func(r outcome.Row) bool { return r.Paired })
}

func (f *Folder) row(cell string) *outcome.Row {
	for i := range f.Summary.Rows {
		if f.Summary.Rows[i].Cell == cell {
			return &f.Summary.Rows[i]
		}
	}
	return nil
}

// goodputs are a cell's, by seed.
func (f *Folder) goodputs(cell string) map[uint64]float64 {
	out := map[uint64]float64{}
	for _, r := range f.of(cell) {
		if r.Metrics != nil {
			out[r.Seed] = r.Metrics.GoodputBitPerS
		}
	}
	return out
}

func compared(cell string, a, b *Folder, pairs bool) Compared {
	c := Compared{Cell: cell}
	ra, rb := a.row(cell), b.row(cell)
	if c.Verdict = strings.Join(slices.Concat(missing("first", ra), missing("second", rb)), "; "); c.Verdict != "" {
		return c
	}
	c.A, c.B = ra.Goodput, rb.Goodput
	x, y := a.goodputs(cell), b.goodputs(cell)
	seedsX, seedsY := slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y))
	first, second := values(x, seedsX), values(y, seedsY)
	common := slices.DeleteFunc(seedsX, func(seed uint64) bool { return !slices.Contains(seedsY, seed) })
	if c.Paired = pairs && len(common) > 0; c.Paired {
		first, second = values(x, common), values(y, common)
		c.Ratio = outcome.NewInterval(stat.PairedRatio(second, first))
	} else {
		c.Ratio = outcome.NewInterval(stat.Ratio(second, first))
	}
	if c.Verdict = identical; !maps.Equal(x, y) {
		c.Verdict = verdict(c.Ratio, len(first), len(second))
	}
	return c
}

// missing returns why a row has no number.
func missing(which string, r *outcome.Row) []string {
	switch {
	case r == nil:
		return []string{"not in the " + which}
	case !valid(r):
		return []string{invalidWord(r) + " in the " + which + broken(r)}
	}
	return nil
}

func verdict(r *outcome.Interval, first, second int) string {
	switch {
	case first == 1 && second == 1:
		return oneRun
	case first == 1:
		return oneFirst
	case second == 1:
		return oneSecond
	case r.Low >= 1/(1+same) && r.High <= 1+same:
		return alikeWord
	case r.Low > 1:
		return faster
	case r.High < 1:
		return slower
	}
	return unclear
}

func values(m map[uint64]float64, seeds []uint64) (out []float64) {
	for _, seed := range seeds {
		out = append(out, m[seed])
	}
	return out
}

// Table prints it for a terminal of that many columns; 0: no limit.
func (c *Comparison) Table(w io.Writer, width int) error {
	var b strings.Builder
	for _, d := range c.Differences {
		b.WriteString("differs in " + wrap(d, width, 2) + "\n")
	}
	if len(c.Differences) > 0 {
		b.WriteString("\n")
	}
	var rows [][]string
	count := map[string]int{}
	for _, r := range c.Rows {
		if r.Ratio == nil {
			rows = append(rows, []string{r.Cell, "-", "-", "-", r.Verdict})
			continue
		}
		count[r.Verdict]++
		rows = append(rows, []string{r.Cell, span(r.A, mbit), span(r.B, mbit), span(r.Ratio, 1), r.Verdict})
	}
	answer.Table(&b, "CELL FIRST-MBIT/S SECOND-MBIT/S RATIO VERDICT", rows)
	b.WriteString("\n")
	for _, v := range []string{identical, alikeWord, faster, slower, unclear, oneRun, oneFirst, oneSecond} {
		if count[v] > 0 {
			fmt.Fprintf(&b, "%d %s\n", count[v], v)
		}
	}
	for _, g := range c.Winners {
		b.WriteString("a different winner in " + g + "\n")
	}
	for _, v := range c.Verdicts {
		b.WriteString("another verdict in " + v + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
