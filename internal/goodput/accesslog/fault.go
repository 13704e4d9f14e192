package accesslog

import "github.com/congctl/congctl/internal/strict"

// maxShown bytes of a bad value are shown: enough to recognise it, too few to fill a journal
// with one request.
const maxShown = 64

func faultOf(field, value, problem, fix string) *strict.Fault {
	return &strict.Fault{Field: cut(field), Value: cut(value), Problem: problem, Fix: fix}
}

// cut: a field, too, may be the line's own text, an unknown key.
func cut(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "..."
	}
	return s
}
