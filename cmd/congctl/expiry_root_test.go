package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/tcp/record"
)

// TestStoppedAgentTreatsNobodyPastTheExpiry stops the process for longer than its
// treatment lives in the kernel.
func TestStoppedAgentTreatsNobodyPastTheExpiry(t *testing.T) {
	notShort(t, "waits for a treatment to expire")
	cfg := quickSettings()
	cfg.Expiry = "5s" // the agent renews it at each poll: a machine that stands still for seconds is not an agent that is stopped
	e := newEdge(t, cfg)
	from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	e.keepPlan(e.planFor(prefixOf(t, from)))
	e.start()
	s := newServer(t)
	if ran := s.transfers(from, 10); ran["bbr"] != 10 {
		t.Fatalf("before: %v", ran)
	}
	kept := s.dial(from)

	e.pause()
	time.Sleep(5*time.Second + 500*time.Millisecond)
	if ran := s.transfers(from, 10); ran["cubic"] != 10 {
		t.Errorf("stopped past the expiry: %v", ran)
	}
	check(t, kept.get(large))
	if got := kept.runs(); got != "cubic" {
		t.Errorf("stopped past the expiry, an older connection: %s", got)
	}
	e.signal(syscall.SIGCONT)
	began, tries := time.Now(), 0
	s.eventually("treatment after SIGCONT", func() bool { tries++; return s.transfer(from, large) == "bbr" })
	t.Logf("treated again %s after SIGCONT, transfer %d", time.Since(began).Round(time.Millisecond), tries)
	check(t, kept.get(large))
	if got := kept.runs(); got != "bbr" {
		t.Errorf("the next response of the older connection: %s", got)
	}
	kept.Close()
	s.drained()
	e.stop()
	applied := map[record.Applied]int{}
	for _, c := range e.records() {
		if c.Passive && c.End == record.EndClose {
			if crossedBefore(&c) { // the agent slept at the window's end, or it would have told
				c.Applied = record.AppliedNoneExpired
			}
			applied[c.Applied]++
			if c.Assigned != record.ArmTreatment {
				t.Errorf("assigned %s", c.Assigned)
			}
		}
	}
	if applied[record.AppliedNoneExpired] != 10+tries-1 || applied[record.AppliedTreatment] != 12 {
		t.Errorf("applied: %v after %d tries", applied, tries)
	}
}

// crossedBefore: nothing was applied in this record's window, since the connection
// crossed the threshold in an earlier one. A boundary may fall into any transfer.
func crossedBefore(c *record.Conn) bool {
	return c.Applied == record.AppliedNone && c.CrossedNs > 0 && c.CrossedNs/1e9 < c.Window
}
