package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestAlwaysAndNever: what the operator lists runs the treatment from the first round
// on, in every block without control, else in those that the plan draws; what is listed
// as never does not, and a reload changes both.
func TestAlwaysAndNever(t *testing.T) {
	cfg := quickSettings()
	cfg.ControlEvery = 2
	probe, moved := client(0, 7), client(1, 7)
	var listed []netip.Addr
	for i := range 8 {
		listed = append(listed, client(1+i, 7))
	}
	cfg.Lists = lists(t, listed, "off", probe)
	e := newEdge(t, cfg)
	e.start()
	s := newServer(t)
	e.awaitStatus("the listed networks in force", inForce(len(listed)))
	controls := 0
	for _, from := range listed {
		if arm, _ := e.planShown().ArmAt(prefixOf(t, from), time.Now().Unix()); arm != record.ArmTreatment {
			t.Errorf("%s: arm %s without control blocks", from, arm)
		}
		if plan.NewDraws(e.planShown().Salt, 0, 0).Arm(prefixOf(t, from), 2, time.Now().Unix()/3600) == record.ArmControl {
			controls++
		}
		s.visit(t, from, "bbr")
	}
	s.visit(t, probe, "cubic")
	t.Logf("%d of %d would be in a control block", controls, len(listed))
	if text := e.must("explain", moved.String()); !strings.Contains(text, "Treated because the configuration says so: satellite link.\n") {
		t.Errorf("explain %s:\n%s", moved, text)
	}
	var rows []control.PrefixRow
	if e.ask(&rows, "prefixes", "--state", "always"); len(rows) != len(listed) {
		t.Errorf("%d of %d are shown as always", len(rows), len(listed))
	}

	e.cfg.Lists = lists(t, listed[1:], "on", probe, moved)
	e.reload("reload: by SIGHUP; ")
	s.visit(t, moved, "cubic") // in the kernel at once
	e.awaitStatus("one less in force", inForce(len(listed)-1))
	p := e.planShown()
	if n := countStates(p, plan.StateAlways); n != len(listed)-1 {
		t.Fatalf("%d always in\n%s", n, p.Text())
	}
	for _, from := range listed[1:] {
		block := time.Now().Unix() / p.BlockSeconds
		want := map[record.Arm]string{record.ArmTreatment: "bbr", record.ArmControl: "cubic"}
		arm, _ := p.ArmAt(prefixOf(t, from), block*p.BlockSeconds)
		if got := s.transfer(from, large); got != want[arm] && time.Now().Unix()/p.BlockSeconds == block {
			t.Errorf("%s: arm %s ran %s", from, arm, got)
		}
	}
	e.stop()
	e.eventsHave(string(policy.EventSelected), string(policy.EventReleased))
}

// selectsAll are settings with policy.select all.
func selectsAll(cfg settings, lists string) settings {
	cfg.Select, cfg.ControlEvery, cfg.Block, cfg.Lists = policy.SelectAll+", trial: {evidence: 16h}", 16, "30m", lists
	return cfg
}

// TestSelectAll: with policy.select all a network is treated that was never seen, but in the control block of the whole PoP; what is
// never to be treated is not, and the plan has one entry.
func TestSelectAll(t *testing.T) {
	probe := client(0, 7)
	e := newEdge(t, selectsAll(quickSettings(), lists(t, nil, "on", probe)))
	e.start()
	e.awaitStatus("all networks in force", inForce(1))
	arm := wantAllTreated(t, newServer(t), probe, e.planShown())
	var rows []control.PrefixRow
	for end := time.Now().Add(wholeTime); ; time.Sleep(time.Second) {
		if e.ask(&rows, "prefixes", "--state", "always"); len(rows) == 5 || time.Now().After(end) {
			break
		}
	}
	if len(rows) != 5 || rows[0].Arm != arm || rows[4].Arm != arm {
		t.Errorf("all and four networks are treated: %+v", rows)
	}
	for what, says := range map[string]string{"all": "Treated in 15 of 16 blocks, the same for the whole PoP.", client(1, 7).String(): "Treated with all networks since", probe.String(): "Not treated: "} {
		if text := e.must("explain", what); !strings.Contains(text, says) {
			t.Errorf("explain %s:\n%s", what, text)
		}
	}
	e.stop()
}

// TestFleetSelectAll: so it is on a fleet's host, by its controller's plan. What is never to be treated is the host's own.
func TestFleetSelectAll(t *testing.T) {
	probe, cfg := client(0, 7), settingsOf(fleetWindow)
	f := newFleetOf(t, selectsAll(cfg, ""), "")
	cfg.Block, cfg.Lists = f.cfg.Block, lists(t, nil, "on", probe)
	host, ann := f.agent("edge-1", cfg), f.operator(mtls.Operator)
	host.start()
	s := newServer(t)
	host.awaitStatus("all networks in force", inForce(1))
	wantAllTreated(t, s, probe, ann.planShown("--pop", "chi"))
	eventually(t, "all, four networks, and the probe's, of which its host alone knows", wholeTime, func() bool {
		var rows []control.PrefixRow
		ann.ask(&rows, "prefixes", "--pop", "chi", "--state", "always")
		return len(rows) == 6
	})

	ann.must("stop", "--pop", "chi")
	host.awaitStatus("stopped", func(s control.Status) bool { return s.Stopped })
	s.visit(t, client(1, 7), "cubic")
	host.stop()
	f.stop()
}

// wantAllTreated visits from networks that were never seen and returns their arm.
func wantAllTreated(t *testing.T, s *server, probe netip.Addr, p *plan.Plan) record.Arm {
	t.Helper()
	arm, in := p.ArmAt(prefixOf(t, client(1, 7)), time.Now().Unix())
	if len(p.Entries) != 1 || p.Entries[0].Prefix != record.All || !in {
		t.Fatalf("arm %s in\n%s", arm, p.Text())
	}
	for i := range 4 {
		s.visit(t, client(1+i, 7), map[record.Arm]string{record.ArmTreatment: "bbr", record.ArmControl: "cubic"}[arm])
	}
	s.visit(t, probe, "cubic")
	return arm
}

// lists are the keys of treatment for networks always and never treated.
func lists(t *testing.T, always []netip.Addr, controls string, never ...netip.Addr) string {
	var yes, no []string
	for _, a := range always {
		yes = append(yes, prefixOf(t, a).String()+" satellite link")
	}
	for _, a := range never {
		no = append(no, prefixOf(t, a).String()+" our own probe")
	}
	return fmt.Sprintf(", always: [%s], never: [%s], control: %q", strings.Join(yes, ", "), strings.Join(no, ", "), controls)
}

func inForce(n int) func(control.Status) bool {
	return func(s control.Status) bool { return s.Agent != nil && s.Agent.InForce == n }
}

// planShown is the latest plan, of this host or a PoP.
func (e *edge) planShown(pop ...string) *plan.Plan {
	e.t.Helper()
	p, _, err := plan.Parse([]byte(e.must(append(pop, "plan", "show")...)))
	check(e.t, err)
	return p
}

func countStates(p *plan.Plan, state string) int {
	return len(slices.DeleteFunc(slices.Clone(p.Entries), func(e plan.Entry) bool { return e.State != state }))
}
