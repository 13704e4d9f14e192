package strict

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Fault is one thing wrong with a text that a person wrote.
type Fault struct {
	Line    int    // 0 where no line alone is at fault
	Part    string // of what the text describes, as in "cell loss=1%/bbr"
	Field   string // dotted, as in "path.rate"
	Value   string // as written, or as resolved
	Problem string
	Fix     string // what to write instead
}

func (f Fault) Error() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", f.Line)
	}
	for _, where := range []string{f.Part, f.Field} {
		if where != "" {
			b.WriteString(where + ": ")
		}
	}
	if f.Value != "" && !hasLogin.MatchString(f.Value) {
		fmt.Fprintf(&b, "%.*q: ", maxValue, f.Value)
	}
	b.WriteString(f.Problem)
	if f.Fix != "" {
		b.WriteString("; " + f.Fix)
	}
	return b.String()
}

// hasLogin is an address with what stands before an @. A format leaves out the values of keys that may hold a secret; this is for
// those that stand where no format expects them.
var hasLogin = regexp.MustCompile(`(?s)://.*@`)

// PlainKey returns an unknown key as a fault may name it. A password with a comma that is not in quotes goes on as a key without
// a value, and an address without the name of its key is one itself.
func PlainKey(k, v *Node) string {
	if plainKey.MatchString(k.Value) && !Empty(v) {
		return k.Value
	}
	return "(not a key)"
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// Faults are all faults of one text.
type Faults []Fault

// A file of megabytes that is no such file is one value, or has a fault in each line.
const (
	maxValue = 200 // characters of a value that are shown: the longest right one is a list of addresses
	maxLines = 200 // faults that are shown: a person mends no more at a time
)

func (fs Faults) Error() string {
	var texts []string
	for _, f := range fs[:min(len(fs), maxLines)] {
		texts = append(texts, f.Error())
	}
	if more := len(fs) - maxLines; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "\n")
}

// Add appends a fault of no line.
func (fs *Faults) Add(field, value, problem, fix string) {
	*fs = append(*fs, Fault{Field: field, Value: value, Problem: problem, Fix: fix})
}

// AddOnce appends f unless another part has the same fault already.
func (fs *Faults) AddOnce(f Fault) {
	same := func(g Fault) bool {
		g.Part = f.Part
		return g == f
	}
	if !slices.ContainsFunc(*fs, same) {
		*fs = append(*fs, f)
	}
}

// Err returns fs in the order of its lines, nil if there is none.
func (fs Faults) Err() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return fs
}
