package bbr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/enable"
	"github.com/congctl/congctl/internal/host/kernel/paperhosttest"
)

// planText is a plan as people check it: each write in its order, files in full.
func planText(r Result, err error) string {
	var b strings.Builder
	if missing, ok := errors.AsType[MissingError](err); ok {
		for _, m := range missing {
			fmt.Fprintf(&b, "missing: %s\n    %s\n", m.What, m.Fix)
		}
		return b.String()
	}
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	if len(r.Steps) == 0 {
		b.WriteString("nothing to write\n")
	}
	for _, s := range r.Steps {
		brief := change.Brief
		if s.Kind == change.Qdisc {
			brief = enable.Summary
		}
		fmt.Fprintf(&b, "%s: %s -> %s (%s)\n", s, brief(s.Old), brief(s.New), s.Why)
		if s.Kind == change.File {
			fmt.Fprintf(&b, "    mode %o\n", s.New.Mode)
			for l := range strings.Lines(s.New.Text) {
				b.WriteString("    | " + l)
			}
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s: %s\n", n.About, n.Text)
	}
	return b.String()
}

// TestPlans compares the writes on every host on paper with what a person has checked
// once: testdata/NAME.plan.
func TestPlans(t *testing.T) {
	paperhosttest.Golden(t, ".plan", func(facts advise.Facts) string {
		return planText(show(enable.For(&facts), paperhosttest.Before(&facts), true))
	})
}
