package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestBrowserController: a browser acts at a running controller, and its agent does what it is told.
func TestBrowserController(t *testing.T) {
	needBrowser(t)
	cfg := quickSettings()
	own := cfg
	cfg.Metrics = freePort(t)
	f := newFleetOf(t, cfg, "")
	ann := f.operator(mtls.Operator)
	host := f.agent("edge-1", own)
	host.start()
	var settled record.PlanID
	eventually(t, "a plan that has settled", patience, func() bool {
		s := ann.fleetStatus()
		settled = s.Plan
		return s.Plan > 0 && s.Stage == "" && len(s.Hosts) == 1 && s.Hosts[0].Connected && s.Hosts[0].Plan == s.Plan
	})
	f.edit(ann, func(p *plan.Plan) {
		p.Entries = append(p.Entries, plan.Entry{Prefix: prefixOf(t, client(0, 7)), Cong: "bbr", State: plan.StateAlways, Since: 1_700_000_000, Reason: "satellite link"})
	})
	var op, look TokenAdded
	f.ask(&op, "token", "add", "eve", "--role", "operator")
	f.ask(&look, "token", "add", "bob", "--role", "viewer")
	browse(t, "controller.js", "http://"+cfg.Metrics, op.Token, look.Token, f.planFile(), fmt.Sprint(settled))
	ann.audited("freeze by token eve: done", "unfreeze by token eve: done", "stop by token eve: done", "resume by token eve: done", "push ", "rollback "+fmt.Sprint(settled)+" by token eve: done", "abort by token eve: refused")
	f.must("token", "remove", "eve")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+cfg.Metrics+"/api/pop/chi/v1/stop", strings.NewReader("{}"))
	check(t, err)
	r.Header.Set(tokenHeader, op.Token)
	res, err := http.DefaultClient.Do(r)
	check(t, err)
	check(t, res.Body.Close())
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a removed token: %d", res.StatusCode)
	}
	host.stop()
	f.stop()
}
