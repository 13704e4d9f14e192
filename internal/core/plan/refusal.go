package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// LineError is one refusal: the line of the file, from 1, what on it is wrong,
// and why.
type LineError struct {
	Line  int
	Field string // a header name, a column, "hash", "signature" or "file"
	Err   error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s: %v", e.Line, e.Field, e.Err) }

// Unwrap gives the reason.
func (e *LineError) Unwrap() error { return e.Err }

// Refusals flattens the errors of Parse and Validate, in order.
func Refusals(err error) []*LineError {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*LineError
		for _, e := range many.Unwrap() {
			out = append(out, Refusals(e)...)
		}
		return out
	}
	var e *LineError
	if errors.As(err, &e) {
		return []*LineError{e}
	}
	return nil
}

// refusals collects; at most `most` are kept (0: all) and the rest are counted.
type refusals struct {
	most    int
	errs    []*LineError
	dropped int
	stopped int // line at which the reading stopped, 0: it did not
}

func (r *refusals) add(line int, field string, err error) {
	switch {
	case err == nil:
	case r.most > 0 && len(r.errs) >= r.most:
		r.dropped++
	default:
		r.errs = append(r.errs, &LineError{line, field, err})
	}
}

func (r *refusals) addf(line int, field, format string, args ...any) {
	r.add(line, field, fmt.Errorf(format, args...))
}

// err joins them in the order of the lines; nil if there is none.
func (r *refusals) err() error {
	slices.SortStableFunc(r.errs, func(a, b *LineError) int { return cmp.Compare(a.Line, b.Line) })
	var all []error
	for _, e := range r.errs {
		all = append(all, e)
	}
	if r.stopped > 0 {
		all = append(all, fmt.Errorf("reading stopped at line %d: there may be more", r.stopped))
	} else if r.dropped > 0 {
		all = append(all, fmt.Errorf("and %d more", r.dropped))
	}
	return errors.Join(all...)
}
