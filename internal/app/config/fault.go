package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing wrong with a configuration.
type Fault struct {
	Field   string // dotted, as in "plan.max_change"
	Line    int    // 0 when the value is not from a file
	Value   string // as written
	Problem string
	Fix     string // what to write instead
}

func (f Fault) Error() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", f.Line)
	}
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	if f.Value != "" {
		fmt.Fprintf(&b, "%q: ", f.Value)
	}
	b.WriteString(f.Problem)
	if f.Fix != "" {
		b.WriteString("; " + f.Fix)
	}
	return b.String()
}

// Faults are all faults of one configuration, in the order of its lines.
type Faults []Fault

func (fs Faults) Error() string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		texts[i] = f.Error()
	}
	return strings.Join(texts, "\n")
}

func (fs *Faults) add(field, value, problem, fix string) {
	*fs = append(*fs, Fault{Field: field, Value: value, Problem: problem, Fix: fix})
}

// or is the error of fs: nil when there is none.
func (fs Faults) or() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return fs
}
