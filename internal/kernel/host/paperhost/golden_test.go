package paperhost

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/core/advise"
)

var rewrite = flag.Bool("rewrite", false, "write the findings of every host into testdata")

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
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			facts := load(t, name)
			got := findings(advise.Check(&facts))
			path := filepath.Join("testdata", name+".findings")
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func load(t *testing.T, name string) advise.Facts {
	t.Helper()
	h, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return h.Read()
}

// TestEveryVerdictIsSeen: a check that is always ok on a dozen hosts was never tested.
func TestEveryVerdictIsSeen(t *testing.T) {
	seen := map[string][]advise.Verdict{}
	for _, name := range Names() {
		facts := load(t, name)
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
