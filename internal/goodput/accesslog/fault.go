package accesslog

import "github.com/congctl/congctl/internal/strict"

// maxShown bytes of a bad value are shown: enough to recognise it, too few to fill a journal
// with one request.
const maxShown = 64

func faultOf(field, value, problem, fix string) *strict.Fault {
	if len(value) > maxShown {
		value = value[:maxShown] + "..."
	}
	return &strict.Fault{Field: field, Value: value, Problem: problem, Fix: fix}
}
