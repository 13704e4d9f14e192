package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
)

// demoWindow is short, so that a day's rounds take minutes.
const demoWindow = 8 * time.Second

// demoPart is the part of the configuration that controllers and agents share.
const demoPart = `state_dir: %[1]s/state
socket: %[1]s/sock
window: 8s
metrics: {listen: %[3]q}
poll: 1s
cgroup: "%[2]s"
treatment: {cong: bbr, default_cong: cubic, min_bytes: 60000, expiry: 24s}
experiment: {block: 16s, washout: 0s, holdout: 0, aa: 0}
policy: {min_known: 4, guards: {tiny_rtt_us: 0}}
starved: {steal_share: 1, run_queue_per_cpu: 1000}
log: {level: info}
`

var (
	demoPops  = []string{"chi", "ams"}
	demoNames = []string{"one", "two"} // of the controllers
)

// demoFleet is what runs on the hosts of a demoWorld.
type demoFleet struct {
	t           testing.TB
	pipe        *pipeline
	authority   *mtlstest.Authority
	controllers []*edge
	urls        []string
	pages       []string // addresses of the controllers' dashboards
	ann         *edge    // an operator's
	world       *demoWorld
	began       time.Time
}

// say tells what has just happened; `make demo-fleet` shows it.
func (d *demoFleet) say(format string, args ...any) {
	fmt.Printf("%4.0f s  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

func (d *demoFleet) issue(id mtls.Identity) mtls.Files {
	return d.authority.Issue(id, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.ParseIP(demoHub)} })
}

// part makes one process of the fleet with its configuration.
func (d *demoFleet) part(as, cgroup, fleet, metrics string) *edge {
	d.t.Helper()
	dir, err := os.MkdirTemp("", "demo") // short: a unix socket's path is
	check(d.t, err)
	e := &edge{t: d.t, dir: dir, as: as, program: program}
	d.t.Cleanup(func() {
		e.kill()
		if d.t.Failed() && e.log != nil {
			d.t.Logf("log of %s %s:\n%s", as, dir, tail(e.log.String(), 40))
		}
		os.RemoveAll(dir)
	})
	check(d.t, os.WriteFile(e.configPath(), []byte(fmt.Sprintf(demoPart, dir, cgroup, metrics)+fleet+"\n"), 0o600))
	return e
}

// control starts a controller of both PoPs.
func (d *demoFleet) control(name string) {
	d.t.Helper()
	l, err := net.Listen("tcp", demoHub+":0")
	check(d.t, err)
	addr := l.Addr().String()
	check(d.t, l.Close())
	page := freePort(d.t)
	c := d.part("controller", "", section(d.issue(mtls.Identity{Role: mtls.Controller, Name: name}), "4s",
		fmt.Sprintf("listen: %q, pops: [chi, ams], kafka: %q, clickhouse: %q", addr, d.pipe.cfg.Kafka, d.pipe.cfg.ClickHouse)), page)
	d.controllers, d.urls, d.pages = append(d.controllers, c), append(d.urls, "https://"+addr), append(d.pages, page)
	c.launch()
	eventually(d.t, "a controller that listens", wholeTime, func() bool {
		select {
		case <-c.done:
			c.cmd = nil
			d.t.Fatal(c.log.String())
		default:
		}
		return strings.Contains(c.log.String(), "agents at")
	})
}

var planKey = regexp.MustCompile(`plan key ([0-9a-f]{64})`)

func (d *demoFleet) keys() string {
	var keys []string
	for _, c := range d.controllers {
		for _, k := range planKey.FindAllStringSubmatch(c.log.String(), -1) {
			keys = append(keys, k[1])
		}
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), ", ")
}

// runAgents starts one in each edge's namespace.
func (d *demoFleet) runAgents() {
	d.t.Helper()
	keys := d.keys()
	for _, h := range d.world.hosts {
		h.agent = d.part("agent", h.cg.Path, section(d.issue(mtls.Identity{Role: mtls.Agent, PoP: h.pop, Name: h.name}), "4s",
			fmt.Sprintf("controller: [%s], plan_keys: [%s], kafka: %q", strings.Join(d.urls, ", "), keys, d.pipe.cfg.Kafka)), config.MetricsOff)
		check(d.t, h.ns.Do(func() error { h.agent.launch(); return nil }))
	}
	for _, h := range d.world.hosts {
		h.agent.awaitStatus("first poll", func(s control.Status) bool { return s.Agent.Polls > 0 })
	}
}

// until asks twice a second: each question is a process of its own.
func (d *demoFleet) until(what string, limit time.Duration, ok func() bool) {
	d.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(500 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

// at asks the controller at a URL; false while that does not answer for the PoP.
func (d *demoFleet) at(url, pop string, v any, args ...string) bool {
	out, _, code := d.ann.verb(append(args, "--pop", pop, "--controller", url, "-o", "json")...)
	return code == 0 && json.Unmarshal([]byte(out), v) == nil
}

// decides returns which controller that runs decides for a PoP.
func (d *demoFleet) decides(pop string) (i int) {
	d.t.Helper()
	d.until("a controller that decides for "+pop, wholeTime, func() bool {
		for i = range d.controllers {
			if d.controllers[i].cmd != nil && d.at(d.urls[i], pop, &FleetStatus{}, "fleet", "status") {
				return true
			}
		}
		return false
	})
	return i
}

// ask asks the controller that decides for a PoP.
func (d *demoFleet) ask(pop string, v any, args ...string) {
	d.t.Helper()
	d.until(fmt.Sprintf("an answer to %v", args), wholeTime, func() bool { return d.at(d.urls[d.decides(pop)], pop, v, args...) })
}

// treats waits until all kernels of a PoP have so many networks in force.
func (d *demoFleet) treats(pop string, n int) {
	d.t.Helper()
	var s FleetStatus
	d.until("a plan in force on all hosts of "+pop, 3*time.Minute, func() bool {
		d.ask(pop, &s, "fleet", "status")
		return len(s.Hosts) > 0 && !slices.ContainsFunc(s.Hosts, func(h FleetHost) bool { return !h.Connected || h.InForce < n })
	})
	d.say("%s: plan %d moves %d networks to BBR; the kernels of %d hosts have it, as they were read back", pop, s.Plan, s.Hosts[0].InForce, len(s.Hosts))
}

// killOne kills the controller of a PoP in the middle, and waits until the other has decided.
func (d *demoFleet) killOne(pop string) {
	d.t.Helper()
	i := d.decides(pop)
	killed := time.Now()
	d.controllers[i].kill()
	d.say("controller %s, which decides for %s, is killed", demoNames[i], pop)
	for _, pop := range demoPops {
		var s control.Status
		d.until("a round of "+pop, wholeTime, func() bool {
			d.ask(pop, &s, "status")
			return s.RoundUnixS > killed.Unix()
		})
		d.say("controller %s has decided for %s", demoNames[d.decides(pop)], pop)
	}
}

// shown waits until the benefit is shown for so many networks of a PoP, or for a time.
func (d *demoFleet) shown(pop string, n int, until time.Time) {
	d.t.Helper()
	var rows []control.PrefixRow
	promoted := 0
	for promoted < n && time.Now().Before(until) {
		time.Sleep(time.Second)
		promoted = 0
		d.ask(pop, &rows, "prefixes")
		for _, r := range rows {
			if demoStates[r.State] == believedText {
				promoted++
			}
		}
	}
	d.say("%s: the benefit is shown for %d networks", pop, promoted)
}

// TestDemoFleet is `make demo-fleet`: two PoPs, five edge hosts with real downloads, Kafka,
// ClickHouse, two controllers, one of which is killed, and what clients got of it.
func TestDemoFleet(t *testing.T) {
	needRoot(t)
	d := &demoFleet{t: t, began: time.Now(), authority: mtlstest.New(t)}
	d.world = newDemoWorld(t, map[string]int{"chi": 3, "ams": 2})
	d.pipe = newPipelineAt(t, demoHub)
	d.pipe.cfg.BatchWait = 200 * time.Millisecond
	d.pipe.start()
	d.say("Kafka and ClickHouse run, and congctl ingest between them")
	for _, name := range demoNames {
		d.control(name)
	}
	d.ann = d.part("", "", section(d.issue(mtls.Identity{Role: mtls.Operator, Name: "ann"}), "4s", ""), config.MetricsOff)
	for _, pop := range demoPops {
		d.say("controller %s decides for %s", demoNames[d.decides(pop)], pop)
	}
	d.runAgents()
	ctx, stop := context.WithCancel(t.Context())
	done := d.world.download(ctx, demoWindow/7)
	d.say("%d agents measure; %d client networks of each PoP download; %d of them lose %.0f %% of their packets", len(d.world.hosts), demoNetworks, demoLossy, 100*demoLoss)
	for _, pop := range demoPops {
		d.treats(pop, demoLossy)
	}
	d.killOne("chi")
	until := time.Now().Add(2 * time.Minute)
	for _, pop := range demoPops {
		d.shown(pop, demoLossy, until)
	}
	d.tell()
	if os.Getenv("CONGCTL_BROWSER") != "" { // the README's picture
		browse(t, "demo.js", "http://"+d.pages[d.decides("chi")])
	}
	stop()
	done.Wait()
}
