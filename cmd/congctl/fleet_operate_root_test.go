package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// lastPlanBy is what `plan history` says of the newest plan of an operator.
func (e *edge) lastPlanBy(name string) (line control.PlanLine) {
	e.t.Helper()
	var lines []control.PlanLine
	e.ask(&lines, "plan", "history", "-n", "0", "--pop", "chi")
	for _, l := range lines {
		if l.By == name {
			return l
		}
	}
	return line
}

// TestFleetPush: an operator takes a network out of the plan by a file. It reaches the kernel through the
// stages, stays against what rounds select, and is rolled back; the history and the audit say who did what.
func TestFleetPush(t *testing.T) {
	treated, other := client(0, 7), client(1, 7)
	cfg := quickSettings()
	central := cfg
	central.Lists = fmt.Sprintf(`, always: [%s satellite link, %s satellite link], control: "off"`, prefixOf(t, treated), prefixOf(t, other))
	f := newFleetOf(t, central, "")
	ann, bob := f.operator(mtls.Operator), f.operator(mtls.Viewer)
	host := f.agent("edge-1", cfg)
	host.start()
	s := newServer(t)
	host.awaitStatus("two networks in force", inForce(2))
	s.visit(t, other, "bbr")

	was := f.edit(ann, func(p *plan.Plan) {
		p.Entries = p.Entries[:1]
		if p.Entries[0].Prefix != prefixOf(t, treated) {
			t.Fatalf("first is %s", p.Entries[0].Prefix)
		}
	})
	file := f.planFile()
	if _, errs, code := ann.verb("plan", "push", file, "--pop", "chi"); code != exitRefused ||
		!strings.Contains(errs, "- "+prefixOf(t, other).String()) || !strings.Contains(errs, "standard input is no terminal") {
		t.Fatalf("not confirmed: exit code %d: %s", code, errs)
	}
	if _, errs, code := bob.verb("plan", "push", file, "--pop", "chi", "--yes"); code != exitFailed || !strings.Contains(errs, "congctl://viewer/ann may not do this") {
		t.Fatalf("a viewer: exit code %d: %s", code, errs)
	}
	out, errs, code := ann.verb("plan", "push", file, "--pop", "chi", "--yes")
	if code != 0 || !strings.Contains(out, "undo: congctl plan unfreeze --pop chi") || !strings.Contains(errs, "1 removed") {
		t.Fatalf("pushed: exit code %d: %s%s", code, out, errs)
	}
	host.awaitStatus("one network in force", inForce(1))
	eventually(t, "the push settled", patience, func() bool {
		l := ann.lastPlanBy("congctl://operator/ann")
		return (l.State == "in force" || l.State == "settled") && l.Networks == 1 && l.Removed == 1 && l.Why == "is in force on 1 host"
	})
	s.visit(t, other, "cubic")
	f.awaitRounds(ann, 2)
	host.awaitStatus("the push against two rounds", inForce(1))
	ann.must("plan", "rollback", fmt.Sprint(was), "--pop", "chi")
	host.awaitStatus("the plan before the push", inForce(2))
	ann.must("plan", "unfreeze", "--pop", "chi")
	ann.must("plan", "freeze", "--pop", "chi")
	if _, errs, code := ann.verb("plan", "abort", "--pop", "chi"); code != exitFailed || !strings.Contains(errs, "nothing rolls out") {
		t.Errorf("abort: exit code %d: %s", code, errs)
	}
	check(t, os.WriteFile(file, []byte(strings.Replace(f.read(file), "pop chi", "pop ams", 1)), 0o600))
	if _, errs, code := ann.verb("plan", "push", file, "--pop", "chi", "--yes"); code != exitRefused || !strings.Contains(errs, "line") {
		t.Errorf("another PoP's file: exit code %d: %s", code, errs)
	}
	ann.audited("push by congctl://viewer/ann: refused: ", "push ", "rollback "+fmt.Sprint(was)+" by congctl://operator/ann: done",
		"unfreeze by congctl://operator/ann: done", "freeze by congctl://operator/ann: done", "abort by congctl://operator/ann: refused: abort: nothing rolls out")
	host.stop()
	f.stop()
}

func (f *fleet) planFile() string { return filepath.Join(f.dir, "reviewed.txt") }

func (f *fleet) read(name string) string {
	b, err := os.ReadFile(name)
	check(f.t, err)
	return string(b)
}

// edit writes the plan in force, changed, into a file.
func (f *fleet) edit(by *edge, change func(*plan.Plan)) record.PlanID {
	f.t.Helper()
	p := by.planShown("--pop", "chi")
	change(p)
	check(f.t, os.WriteFile(f.planFile(), p.Text(), 0o600))
	return p.Serial
}

// awaitRounds waits for n more rounds of the controller.
func (f *fleet) awaitRounds(by *edge, n int) {
	f.t.Helper()
	rounds := func() (r []journal.Round) { by.ask(&r, "rounds", "-n", "0", "--pop", "chi"); return r }
	start := len(rounds())
	eventually(f.t, "rounds of the controller", patience, func() bool { return len(rounds()) >= start+n })
}

// audited wants events that begin so, in this order.
func (e *edge) audited(want ...string) {
	e.t.Helper()
	var all []journal.Event
	e.ask(&all, "events", "--kind", "audit", "-n", "0", "--pop", "chi")
	texts := make([]string, 0, len(all))
	for _, a := range all {
		texts = append(texts, a.Text)
		if len(want) > 0 && strings.HasPrefix(a.Text, want[0]) {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		e.t.Errorf("not audited: %q in\n%s", want, strings.Join(texts, "\n"))
	}
}
