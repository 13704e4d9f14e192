package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// TestBrowserUp: a browser sees the networks of real connections at a running `congctl up`, and stops and resumes it
// with a token of `congctl token`, not without one.
func TestBrowserUp(t *testing.T) {
	needBrowser(t)
	cfg := quickSettings()
	cfg.Metrics = freePort(t)
	e := newEdge(t, cfg)
	planned := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	e.keepPlan(e.planFor(prefixOf(t, planned)))
	e.start()
	e.fillWindows(newServer(t), []netip.Addr{planned, client(150, 1), client(networks+150, 1)}, 2)
	var op TokenAdded
	e.ask(&op, "token", "add", "ann", "--role", "operator")
	browse(t, "up.js", "http://"+cfg.Metrics, op.Token, prefixOf(t, planned).String())
	if s, err := e.status(); err != nil || s.Stopped {
		t.Errorf("stopped %v, %v", s.Stopped, err)
	}
	if events := e.must("events", "--kind", "audit"); !strings.Contains(events, "stop by token ann: done") || !strings.Contains(events, "resume by token ann: done") {
		t.Errorf("not audited:\n%s", events)
	}
}
