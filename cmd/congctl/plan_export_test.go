package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestPlanExport asks the store half an hour later, when one of the two networks is in control: the networks are those whose arm is the
// treatment then, until the kill switch.
func TestPlanExport(t *testing.T) {
	s := newStage(t, docsDB(t))
	ask := func(code int, words ...string) string {
		t.Helper()
		out := s.congctl(t, command{args: append([]string{"plan"}, words...)})
		if s.code != code {
			t.Errorf("plan %q: exit code %d, want %d: %s", words, s.code, code, out)
		}
		return out
	}
	p, _, err := plan.Parse([]byte(ask(exitOK, "show")))
	check(t, err)
	then := docsNow.Add(30 * time.Minute)
	var want, all []string
	for _, e := range p.Entries {
		if arm, _ := p.ArmAt(e.Prefix, then.Unix()); arm == record.ArmTreatment {
			want = append(want, e.Prefix.String())
		}
		all = append(all, e.Prefix.String())
	}
	if len(want) == 0 || len(want) == len(all) {
		t.Fatalf("the plan shows nothing: it treats %q of %q then", want, all)
	}
	if got := listed(ask(exitOK, "export", "--format", "cidr", "--at", then.Format(time.RFC3339))); !slices.Equal(got, want) {
		t.Errorf("exported %q, want %q", got, want)
	}
	if got := listed(ask(exitOK, "export", "--format", "cidr", "--every-block")); !slices.Equal(got, all) {
		t.Errorf("exported %q in every block, want %q", got, all)
	}
	if out := ask(exitOK, "export", "--format", "haproxy-map"); !strings.Contains(out, "\n# hash sha256 "+p.Hash()+"\n# signed ed25519 ") {
		t.Errorf("no signed hash: %s", out)
	}
	if whole, same := ask(exitOK, "export", "-o", "json"), ask(exitOK, "export", "--format", "json"); whole != same || !strings.Contains(whole, p.Hash()) {
		t.Errorf("-o json: %s--format json: %s", whole, same)
	}
	ask(exitUsage, "export")
	ask(exitUsage, "export", "--format", "cidr", "-o", "json")
	ask(exitNotFound, "export", "99", "--format", "cidr")
	if out := ask(exitRefused, "export", "2", "--format", "cidr"); !strings.Contains(out, "expired at") || len(listed(out)) != 0 {
		t.Errorf("an expired plan: %s", out)
	}
	ask(exitOK, "export", "2", "--format", "cidr", "--at", "2026-11-20T09:00:00Z")
	s.congctl(t, command{args: []string{"stop"}})
	for _, words := range [][]string{{"export", "--format", "cidr"}, {"export", "--format", "cidr", "--every-block"}} {
		if out := ask(exitOK, words...); len(listed(out)) != 0 || !strings.HasSuffix(out, "\n# networks 0: treatment is stopped\n") {
			t.Errorf("stopped, and %q: %s", words, out)
		}
	}
}

// listed are the lines of a cidr list that a program reads.
func listed(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return !strings.Contains(line, "/") || strings.HasPrefix(line, "#") })
}

// TestPlanExportOfAFile needs no congctl, no store and no readable configuration: the file may come from elsewhere.
func TestPlanExportOfAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	check(t, os.WriteFile("plan.txt", exportPlan(t), 0o600))
	var out, errs bytes.Buffer
	if code := run([]string{"plan", "export", "plan.txt", "--format", "cidr", "--at", "2026-11-20T12:00:00Z", "-c", filepath.Join(t.TempDir(), "nosuch.yml")}, &out, &errs); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	if got := listed(out.String()); !slices.Equal(got, []string{"203.0.113.0/24", "2001:db8:0:ab00::/56"}) || !strings.Contains(out.String(), "\n# not signed\n") {
		t.Error(out.String())
	}
	check(t, os.WriteFile("plan.txt", bytes.Replace(exportPlan(t), []byte("203.0.113.0"), []byte("203.0.112.0"), 1), 0o600))
	out.Reset()
	if code := run([]string{"plan", "export", "plan.txt", "--format", "cidr", "--at", "2026-11-20T12:00:00Z"}, &out, &errs); code != exitRefused || out.Len() > 0 {
		t.Errorf("an edited plan: exit code %d, %s", code, &out)
	}
}

// exportPlan treats a network of each family in every block.
func exportPlan(t *testing.T) []byte {
	t.Helper()
	p := &plan.Plan{PoP: "ams1", Serial: 17, Created: docsNow.Unix() - 20, Expires: docsNow.Unix() + 3580, Treatment: "bbr", MinBytes: 100_000,
		BlockSeconds: 1800, WashoutSeconds: 300, Experiment: plan.ExperimentOff, GroupTrial: 2, GroupPromoted: 8, Salt: []byte("sixteen bytes or"), CapRule: plan.CapRuleNone}
	for _, network := range []string{"203.0.113.0/24", "2001:db8:0:ab00::/56"} {
		pfx, err := record.ParsePrefix(network)
		check(t, err)
		p.Entries = append(p.Entries, plan.Entry{Prefix: pfx, Cong: "bbr", State: plan.StateUncontrolled, Since: p.Created, Reason: "r"})
	}
	return p.Text()
}
