package main

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestKilledProcessLeavesNothingAndRestarts kills `up` with SIGKILL while it
// treats: nothing of it stays in the kernel, and the next start takes what was
// treated for what it is.
func TestKilledProcessLeavesNothingAndRestarts(t *testing.T) {
	notShort(t, "some windows before and after a restart")
	e := newEdge(t, quickSettings())
	nets := e.networksIn(record.ArmTreatment, 2)
	old, plain, fresh := client(nets[0], 1), client(networks-1, 1), client(nets[1], 1)
	e.keepPlan(e.planFor(prefixOf(t, old), prefixOf(t, fresh)))
	e.start()
	s := newServer(t)
	treated, untreated := s.dial(old), s.dial(plain)
	check(t, treated.get(large))
	check(t, untreated.get(large))
	if treated.runs() != "bbr" || untreated.runs() != "cubic" {
		t.Fatalf("before the kill: %s, %s", treated.runs(), untreated.runs())
	}

	ids := bpfOf(t, e.cmd.Process.Pid)
	e.kill()
	eventually(t, "eBPF gone after kill -9", time.Second, func() bool { return ids.left() == 0 })
	if got := s.transfer(fresh, large); got != "cubic" {
		t.Errorf("nobody runs, and a transfer ran %s", got)
	}

	restart := time.Now().Unix()
	e.start()
	if got := s.transfer(fresh, large); got != "bbr" {
		t.Errorf("after the restart a transfer ran %s", got)
	}
	eventually(t, "two whole windows after the restart", patience, func() bool {
		check(t, treated.get(large/2))
		check(t, untreated.get(large/2))
		status, err := e.status()
		return err == nil && status.RoundUnixS >= restart+3*windowSeconds
	})
	treatedCookie, untreatedCookie := treated.cookie(), untreated.cookie()
	e.stop()
	e.judgeOldSockets(treatedCookie, untreatedCookie, restart)
	for _, row := range e.rows() {
		if row.Prefix == prefixOf(t, old) && row.Start >= restart {
			t.Errorf("a socket treated before the restart is in a row: %+v", row)
		}
	}
}

// TestKilledBeforeItsPlanIsInForce kills `up` with SIGKILL as soon as its store has a new
// plan, three times before it knew the host's answer. Each time the next start treats by
// that plan, not by the one before.
func TestKilledBeforeItsPlanIsInForce(t *testing.T) {
	notShort(t, "some restarts")
	e := newEdge(t, quickSettings())
	probe, treated, next := client(0, 7), client(1, 7), client(2, 7)
	list := func(a netip.Addr) {
		e.cfg.Lists = lists(t, []netip.Addr{a}, "off", probe)
		e.writeConfig()
	}
	list(treated)
	e.start()
	e.awaitStatus("the listed network in force", inForce(1))
	s := newServer(t)
	between := 0
	for try := 0; between < 3; try++ {
		if try == 30 {
			t.Fatalf("%d of %d kills were in time", between, try)
		}
		e.stop()
		list(next)
		e.start()
		serial, answered := e.killAtNextPlan()
		if !answered {
			between++
		}
		e.start()
		if status, err := e.status(); err != nil || status.Agent.Plan != uint64(serial) || status.Agent.InForce != 1 {
			t.Fatalf("killed with plan %d in the store (host's answer there: %t): after the restart %+v, %v", serial, answered, status.Agent, err)
		}
		s.visit(t, treated, "cubic")
		s.visit(t, next, "bbr")
		treated, next = next, treated
	}
}

// killAtNextPlan waits for the store's next plan, kills, and says whether the store has
// the host's answer too.
func (e *edge) killAtNextPlan() (serial record.PlanID, answered bool) {
	e.t.Helper()
	ctx := e.t.Context()
	s, err := sqlite.Open(ctx, e.storePath(), sqlite.Options{ReadOnly: true})
	check(e.t, err)
	defer s.Close()
	before, _, err := s.LatestPlan(ctx)
	check(e.t, err)
	for end := time.Now().Add(patience); serial <= before.Serial; {
		f, _, err := s.LatestPlan(ctx)
		check(e.t, err)
		if serial = f.Serial; time.Now().After(end) {
			e.t.Fatalf("no plan after %d within %s", before.Serial, patience)
		}
	}
	e.kill()
	v, _, err := s.Setting(ctx, "plan_in_force")
	check(e.t, err)
	return serial, string(v) == fmt.Sprint(serial)
}

func (e *edge) judgeOldSockets(treated, untreated record.Cookie, restart int64) {
	e.t.Helper()
	seen := map[record.Cookie]int{}
	for _, c := range e.records() {
		if c.Applied == record.AppliedNoneApp {
			e.t.Errorf("taken for an application's choice: %+v", c)
		}
		if c.Window < restart {
			continue
		}
		seen[c.Cookie]++
		switch c.Cookie {
		case treated:
			if !c.PreStart || c.Assigned != record.ArmUnknown || c.Applied != record.AppliedUnknown || c.Cong != "bbr" {
				e.t.Errorf("treated before the restart: %+v", c)
			}
		case untreated:
			if !c.PreStart || c.Assigned != record.ArmNone || c.Cong != "cubic" {
				e.t.Errorf("untreated before the restart: %+v", c)
			}
		}
	}
	if seen[treated] < 2 || seen[untreated] < 2 {
		e.t.Errorf("%d and %d records after the restart", seen[treated], seen[untreated])
	}
}

// TestKillSwitch pulls the kill switch by its verb, over a restart, with and
// without moving treated connections back.
func TestKillSwitch(t *testing.T) {
	e := newEdge(t, quickSettings())
	from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	e.keepPlan(e.planFor(prefixOf(t, from)))
	e.start()
	s := newServer(t)
	live := s.dial(from)
	check(t, live.get(large))
	if live.runs() != "bbr" {
		t.Fatalf("before the stop: %s", live.runs())
	}

	e.must("stop")
	if got := s.transfer(from, large); got != "cubic" || live.runs() != "bbr" {
		t.Errorf("stopped: a new transfer ran %s, the live connection %s", got, live.runs())
	}
	e.must("stop", "--evict")
	if live.runs() != "cubic" {
		t.Errorf("evicted, and runs %s", live.runs())
	}
	check(t, live.get(large))
	if live.runs() != "cubic" {
		t.Errorf("evicted, and its next response runs %s", live.runs())
	}

	e.kill()
	e.start()
	if status, err := e.status(); err != nil || !status.Stopped || !status.Agent.Stopped {
		t.Errorf("after a restart: %+v, %v", status, err)
	}
	for range 2 { // a window's end falls into one at most, whose record then says nothing
		if got := s.transfer(from, large); got != "cubic" {
			t.Errorf("stopped before the restart: a transfer ran %s", got)
		}
	}
	e.must("resume")
	if got := s.transfer(from, large); got != "bbr" {
		t.Errorf("resumed: a transfer ran %s", got)
	}
	again := s.dial(from)
	check(t, again.get(large))
	e.must("stop", "--evict")
	e.must("resume")
	check(t, again.get(large))
	if again.runs() != "bbr" {
		t.Errorf("evicted and resumed: the next response ran %s", again.runs())
	}
	e.stop()
	killed := 0
	for _, c := range e.records() {
		if c.Applied == record.AppliedNoneKilled && c.Assigned == record.ArmTreatment {
			killed++
		}
	}
	if killed == 0 {
		t.Error("no record says none-stopped")
	}
	e.eventsHave("stop", "resume")
}

func (e *edge) eventsHave(kinds ...string) {
	e.t.Helper()
	var events []journal.Event
	e.ask(&events, "events")
	seen := map[string]bool{}
	for _, v := range events {
		seen[v.Kind] = true
	}
	for _, k := range kinds {
		if !seen[k] {
			e.t.Errorf("no event %q in %v", k, seen)
		}
	}
}
