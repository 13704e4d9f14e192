package accesslog

import (
	"fmt"
	"strings"
)

// Fault is what is wrong with one line.
type Fault struct {
	Line    int64 // from 1; 0 where the reader did not count
	Field   string
	Value   string // as written, cut to maxShown
	Problem string
	Fix     string
}

// maxShown bytes of a bad value are shown: enough to recognise it, too few to
// fill a journal with one request.
const maxShown = 64

func (f *Fault) Error() string {
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

// Redacted leaves out what was written: a line holds a client's address and what
// it asked for, which must not get into another log.
func (f *Fault) Redacted() *Fault {
	out := *f
	out.Value = ""
	return &out
}

func faultOf(field, value, problem, fix string) *Fault {
	if len(value) > maxShown {
		value = value[:maxShown] + "..."
	}
	return &Fault{Field: field, Value: value, Problem: problem, Fix: fix}
}
