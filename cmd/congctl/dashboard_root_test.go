package main

import (
	"encoding/json"
	"net/http"
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

// TestControllerServesDashboard: it knows its PoPs and their hosts, and an agent serves none.
func TestControllerServesDashboard(t *testing.T) {
	cfg := quickSettings()
	cfg.Metrics = freePort(t)
	f := newFleetOf(t, cfg, "")
	own := quickSettings()
	own.Metrics = freePort(t)
	host := f.agent("edge-1", own)
	host.start()
	var d Desk
	status, body := webPage(t, cfg.Metrics, "/api/desk")
	if check(t, json.Unmarshal(body, &d)); status != http.StatusOK || !d.Fleet || len(d.PoPs) != 1 || d.PoPs[0] != "chi" || d.Role != "viewer" {
		t.Errorf("%d %s", status, body)
	}
	eventually(t, "the host", patience, func() bool {
		var hosts FleetStatus
		_, body := webPage(t, cfg.Metrics, "/api/pop/chi/v1/fleet")
		check(t, json.Unmarshal(body, &hosts))
		return len(hosts.Hosts) == 1 && hosts.Hosts[0].Host == "edge-1" && hosts.Hosts[0].Connected
	})
	for address, want := range map[string]int{cfg.Metrics: http.StatusOK, own.Metrics: http.StatusNotFound} {
		if status, _ := webPage(t, address, "/"); status != want {
			t.Errorf("the page at %s: %d, want %d", address, status, want)
		}
	}
	if status, body := webPage(t, cfg.Metrics, "/api/pop/ams/v1/status"); status != http.StatusNotFound {
		t.Errorf("a PoP of another controller: %d %s", status, body)
	}
}
