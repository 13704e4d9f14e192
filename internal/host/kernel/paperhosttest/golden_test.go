package paperhosttest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/kernel/paperhosttest"
)

// findings as people check them: one line for each, what is to be done below.
func findings(list []advise.Finding) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%-8s%-21s%s\n", f.Verdict, f.ID, f.Fact)
		for _, more := range []struct{ name, text string }{{"why", f.Why}, {"fix", f.Fix}, {"undo", f.Undo}} {
			if more.text != "" {
				fmt.Fprintf(&b, "        %-6s%s\n", more.name, more.text)
			}
		}
	}
	return b.String()
}

// TestFindings compares what is said of every host on paper with what a person has
// checked once: testdata/NAME.findings.
func TestFindings(t *testing.T) {
	paperhosttest.Golden(t, ".findings", func(facts advise.Facts) string { return findings(advise.Check(&facts)) })
}

// TestEveryVerdictIsSeen: a check that is always ok on a dozen hosts was never tested.
func TestEveryVerdictIsSeen(t *testing.T) {
	seen := map[string][]advise.Verdict{}
	for _, name := range paperhosttest.Names() {
		facts := paperhosttest.Load(t, name)
		for _, f := range advise.Check(&facts) {
			if !slices.Contains(seen[f.ID], f.Verdict) {
				seen[f.ID] = append(seen[f.ID], f.Verdict)
			}
			if f.Verdict != advise.OK && f.Fix == "" {
				t.Errorf("%s: %s is %s and tells no fix", name, f.ID, f.Verdict)
			}
			if (f.Verdict == advise.Warn || f.Verdict == advise.Fail) && f.Why == "" {
				t.Errorf("%s: %s is %s and tells no reason", name, f.ID, f.Verdict)
			}
		}
	}
	for id, verdicts := range seen {
		if len(verdicts) < 2 && !slices.Contains(oneVerdict, id) {
			t.Errorf("%s is %v on every host", id, verdicts)
		}
	}
}

// oneVerdict are checks that are not ok only on hosts that no distribution ships.
var oneVerdict = []string{"metrics-cache", "container"}
