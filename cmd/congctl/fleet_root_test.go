package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/top"
)

// fleet is a controller of PoP chi on loopback, and the authority of its hosts.
type fleet struct {
	*edge      // of the controller
	authority  *mtlstest.Authority
	url, key   string // of two controllers both, with a comma
	agentsMore string // of the section fleet of agents
}

// lateness is half of the window, the most that is allowed. It costs no time: a window is decided as soon as all hosts have
// sent it.
func (c settings) lateness() string {
	w, _ := time.ParseDuration(c.Window)
	return (w / 2).String()
}

// fleetWindow is one whose lateness, half of it, a busy machine keeps; pipelineWindow is for records that go through Kafka and
// ClickHouse, too. A plan lives twelve windows, longer than any test keeps a part away.
const fleetWindow, pipelineWindow = 6 * time.Second, 10 * time.Second

func settingsOf(window time.Duration) settings {
	cfg := quickSettings()
	cfg.Window, cfg.Expiry = window.String(), (3 * window).String()
	return cfg
}

// beginWindow waits for the start of the next window: a connection that crosses an end counts twice.
func beginWindow(window time.Duration) {
	time.Sleep(time.Until(time.Now().Truncate(window).Add(window + 500*time.Millisecond)))
}

// section is that of the configuration file.
func section(f mtls.Files, lateness, keys string) string {
	return fmt.Sprintf("fleet: {cert: %s, key: %s, ca: %s, lateness: %s, %s}", f.Cert, f.Key, f.CA, lateness, keys)
}

// newFleetOf starts a controller; more are further keys of its section, each behind a comma.
func newFleetOf(t testing.TB, cfg settings, more string) *fleet {
	t.Helper()
	return controllerOf(t, mtlstest.New(t), "main", cfg, more)
}

// controllerOf starts one by this name.
func controllerOf(t testing.TB, a *mtlstest.Authority, name string, cfg settings, more string) *fleet {
	t.Helper()
	f := &fleet{edge: newEdge(t, cfg), authority: a}
	f.as = "controller"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	addr := l.Addr().String()
	check(t, l.Close())
	f.url = "https://" + addr
	own := f.authority.Issue(mtls.Identity{Role: mtls.Controller, Name: name})
	f.cfg.More = section(own, cfg.lateness(), fmt.Sprintf("listen: %q, pops: [chi]%s", addr, more))
	f.writeConfig()
	f.launchUntil()
	f.key = regexp.MustCompile(`pop chi: plan key ([0-9a-f]{64})`).FindStringSubmatch(f.log.String())[1]
	return f
}

// launchUntil starts the controller and waits until it listens.
func (f *fleet) launchUntil() {
	f.t.Helper()
	f.launch()
	eventually(f.t, "a controller that listens", patience, func() bool { return strings.Contains(f.log.String(), "agents at") })
}

// agent makes a host of the fleet.
func (f *fleet) agent(name string, cfg settings) *edge {
	f.t.Helper()
	e := newEdge(f.t, cfg)
	e.as = "agent"
	own := f.authority.Issue(mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: name})
	e.cfg.More = section(own, cfg.lateness(), fmt.Sprintf("controller: [%s], plan_keys: [%s]%s", f.url, f.key, f.agentsMore))
	e.writeConfig()
	return e
}

// operator makes a host from which a person asks the controller.
func (f *fleet) operator(role mtls.Role) *edge {
	f.t.Helper()
	e := newEdge(f.t, quickSettings())
	e.cfg.More = section(f.authority.Issue(mtls.Identity{Role: role, Name: "ann"}), "1s", fmt.Sprintf("controller: [%s]", f.url))
	e.writeConfig()
	return e
}

func (e *edge) fleetStatus() (s FleetStatus) {
	e.t.Helper()
	e.ask(&s, "fleet", "status", "--pop", "chi")
	return s
}

// TestFleet: one agent's records reach the controller, whose plan reaches the kernel; a kill
// switch reaches it, too; and it outlives the death of either.
func TestFleet(t *testing.T) {
	treated, other := client(0, 7), client(1, 7)
	cfg := settingsOf(fleetWindow)
	central := cfg
	central.Lists = fmt.Sprintf(`, always: [%s satellite link], control: "off"`, prefixOf(t, treated))
	f := newFleetOf(t, central, "")
	ann := f.operator(mtls.Operator)
	host := f.agent("edge-1", cfg)
	host.start()
	s := newServer(t)
	host.awaitStatus("the plan in force", inForce(1))
	s.visit(t, treated, "bbr")
	s.visit(t, other, "cubic")
	eventually(t, "a plan that has settled", patience, func() bool {
		st := ann.fleetStatus()
		return st.Plan > 0 && len(st.Hosts) == 1 && st.Hosts[0].Host == "edge-1" && st.Hosts[0].Connected && st.Hosts[0].InForce == 1 && st.Hosts[0].BBR == bbrVersion() && bbrVersion() > 0
	})
	eventually(t, "the network at the controller", patience, func() bool {
		var rows []control.PrefixRow
		ann.ask(&rows, "prefixes", "--pop", "chi")
		for _, r := range rows {
			if r.Prefix == prefixOf(t, treated) {
				return true
			}
		}
		return false
	})

	topOfFleet(t, ann)
	settled := ann.fleetStatus().Plan
	ann.must("plan", "rollback", fmt.Sprint(settled), "--pop", "chi")
	host.awaitStatus("its content under a later serial", func(s control.Status) bool { return s.Agent.Plan > uint64(settled) && s.Agent.InForce == 1 })

	ann.must("stop", "--evict", "--pop", "chi")
	host.awaitStatus("stopped", func(s control.Status) bool { return s.Stopped && s.StoppedNext })
	s.visit(t, treated, "cubic")
	host.kill()
	host.start()
	host.awaitStatus("stopped after a restart", func(s control.Status) bool { return s.Stopped })
	ann.must("resume", "--pop", "chi")
	host.awaitStatus("resumed", func(s control.Status) bool { return !s.Stopped && s.Agent.InForce == 1 })
	s.visit(t, treated, "bbr")

	counted := f.settled(prefixOf(t, treated))
	f.kill()
	host.kill() // with the controller away
	host.start()
	host.awaitStatus("the plan of before the restart", inForce(1))
	for i := range 5 { // in two windows, whose records wait in the spool
		if i%3 == 0 {
			beginWindow(fleetWindow)
		}
		s.visit(t, treated, "bbr")
	}
	f.launchUntil()
	eventually(t, "connected again", patience, func() bool { st := ann.fleetStatus(); return len(st.Hosts) == 1 && st.Hosts[0].Connected })
	eventually(t, "what waited, each once", patience, func() bool { return f.conns(prefixOf(t, treated))-counted == 5 })
	host.stop()
	f.stop()
}

func (f *fleet) logHas(text string) bool { return strings.Contains(f.log.String(), text) }

// conns counts a network's connections in the windows of the controller's store.
func (f *fleet) conns(p record.Prefix) (n int) {
	for _, w := range f.rowsOf(f.dir + "/state/pops/chi/congctl.db") {
		if w.Prefix == p {
			n += int(w.Conns)
		}
	}
	return n
}

// settled counts when two windows have added nothing: what was sent before is counted then.
func (f *fleet) settled(p record.Prefix) (n int) {
	f.t.Helper()
	n = -1
	eventually(f.t, "windows that add nothing", wholeTime, func() bool {
		was := n
		time.Sleep(2 * fleetWindow)
		n = f.conns(p)
		return n == was
	})
	return n
}

func topOfFleet(t *testing.T, ann *edge) {
	var seen top.Answer
	ann.ask(&seen, "top", "--once", "--pop", "chi")
	if seen.PoP != "chi" || !seen.Running || len(seen.Networks) == 0 || seen.Totals[0].Connections != 0 {
		t.Errorf("top of the fleet: %+v", seen)
	}
}

// TestFleetRoles: a viewer sees and does not act; an agent does neither.
func TestFleetRoles(t *testing.T) {
	f := newFleetOf(t, quickSettings(), "")
	bob := f.operator(mtls.Viewer)
	bob.must("events", "--pop", "chi")
	viewer, acting, elsewhere := f.token("board", "--role", "viewer"), f.token("deploy", "--role", "operator", "--pop", "chi"), f.token("far", "--role", "operator", "--pop", "chi")
	viewer.must("status", "--pop", "chi")
	acting.must("plan", "freeze", "--pop", "chi")
	f.must("token", "remove", "far")
	for _, c := range []struct {
		who  *edge
		args []string
		want string
	}{
		{bob, []string{"stop", "--pop", "chi"}, "congctl://viewer/ann may not do this"},
		{bob, []string{"events", "--pop", "ams"}, "404"},
		{viewer, []string{"stop", "--pop", "chi"}, "token board may not do this"},
		{elsewhere, []string{"status", "--pop", "chi"}, "no such token"},
		{f.agent("edge-1", quickSettings()), []string{"events", "--pop", "chi"}, "congctl://agent/chi/edge-1 may not do this"},
		{bob, []string{"events", "--pop", "chi", "--controller", "https://127.0.0.1:1"}, "ask controller at https://127.0.0.1:1/pop/chi"},
	} {
		if _, errs, code := c.who.verb(c.args...); code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d, %q; want %q", c.args, code, errs, c.want)
		}
	}
	bob.audited("freeze by token deploy: done", "stop by congctl://viewer/ann: refused", "stop by token board: refused")
	f.stop()
}

// token makes a host from which a script asks the controller.
func (f *fleet) token(name string, how ...string) *edge {
	f.t.Helper()
	secret, _, _ := strings.Cut(f.must(append([]string{"token", "add", name}, how...)...), "\n")
	e := newEdge(f.t, quickSettings())
	file := filepath.Join(e.dir, "token")
	check(f.t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	e.cfg.More = fmt.Sprintf("fleet: {token_file: %s, ca: %s, controller: %q}", file, f.authority.Issue(mtls.Identity{Role: mtls.Viewer, Name: "x"}).CA, f.url)
	e.writeConfig()
	return e
}
