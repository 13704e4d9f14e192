package strict

import (
	"strings"
	"testing"
)

// TestFaultsAreShort: a file of megabytes that is one value, or wrong in each line, is told briefly.
func TestFaultsAreShort(t *testing.T) {
	one := Fault{Line: 1, Field: "a", Value: strings.Repeat("x", 2<<20), Problem: "not a list", Fix: "write [a, b]"}
	if got := one.Error(); len(got) > maxValue+60 || !strings.HasSuffix(got, `x": not a list; write [a, b]`) {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
	var many Faults
	for i := range 100_000 {
		many = append(many, Fault{Line: i + 1, Problem: "wrong"})
	}
	if got := many.Error(); strings.Count(got, "\n") != maxLines || !strings.HasPrefix(got, "line 1: wrong\n") || !strings.HasSuffix(got, "and 99800 more") {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
	if got := many[:maxLines].Error(); strings.Contains(got, "more") {
		t.Errorf("%d bytes", len(got))
	}
}
