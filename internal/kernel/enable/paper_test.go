package enable

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/enable"
	"github.com/congctl/congctl/internal/kernel/host/paperhost"
)

var rewrite = flag.Bool("rewrite", false, "write the plan of every host into testdata")

// planText is a plan as people check it: each write in its order, files in full.
func planText(r Result, err error) string {
	var b strings.Builder
	var missing MissingError
	if errors.As(err, &missing) {
		for _, m := range missing {
			fmt.Fprintf(&b, "missing: %s\n    %s\n", m.What, m.Who)
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
	for _, name := range paperhost.Names() {
		h, err := paperhost.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		got := planText(ShowPaper(h.Read()))
		path := filepath.Join("testdata", name+".plan")
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
			t.Errorf("%s: %s", name, diff)
		}
	}
}
