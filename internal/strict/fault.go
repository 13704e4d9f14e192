package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing wrong with a scenario.
type Fault struct {
	Line    int    // 0 where no line alone is at fault
	Cell    string // the first cell that has it; "" when it is of the file
	Field   string // dotted, as in "path.rate"
	Value   string // as written, or as resolved
	Problem string // what is wrong; after a semicolon, what to write instead
}

func (f Fault) Error() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", f.Line)
	}
	if f.Cell != "" {
		fmt.Fprintf(&b, "cell %s: ", f.Cell)
	}
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	if f.Value != "" {
		fmt.Fprintf(&b, "%q: ", f.Value)
	}
	return b.String() + f.Problem
}

// Faults are all faults of one scenario, in the order of its lines.
type Faults []Fault

func (fs Faults) Error() string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		texts[i] = f.Error()
	}
	return strings.Join(texts, "\n")
}

// add keeps f unless another cell has the same fault already.
func (fs *Faults) add(f Fault) {
	same := func(g Fault) bool {
		g.Cell = f.Cell
		return g == f
	}
	if !slices.ContainsFunc(*fs, same) {
		*fs = append(*fs, f)
	}
}

// or is the error of fs: nil when there is none.
func (fs Faults) or() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return fs
}
