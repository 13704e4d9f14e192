package main

import (
	"errors"
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
)

// TestCheckedExitCodes: a warning counts only with --strict, and hides nothing unknown.
func TestCheckedExitCodes(t *testing.T) {
	for _, c := range []struct {
		fails, warns, unknown int
		strict                bool
		want                  int
	}{
		{0, 0, 0, true, 0},
		{0, 2, 0, false, 0},
		{0, 2, 0, true, exitFindings},
		{1, 0, 0, false, exitFindings},
		{0, 0, 1, true, exitUnknown},
		{0, 1, 1, false, exitUnknown},
		{0, 1, 1, true, exitFindings},
		{1, 1, 1, false, exitFindings},
	} {
		var code coded
		if got := (&coded{}); errors.As(checked(advise.Report{Fails: c.fails, Warns: c.warns, Unknown: c.unknown}, c.strict), &got) {
			code = *got
		}
		if code.code != c.want {
			t.Errorf("%+v: exit code %d", c, code.code)
		}
	}
}
