package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
)

// TestEachPartIsScraped: up, agent, controller and ingest, each a process with its work, with a real
// Prometheus that scrapes all four ten times a second, by ten jobs of one scrape a second, and evaluates the rules. No scrape
// fails, no record is lost, and windows end as without.
func TestEachPartIsScraped(t *testing.T) {
	program := prometheusProgram(t, "prometheus")
	const jobs = 10
	targets := map[string]string{}
	for verb, address := range startEachPart(t) {
		for i := range jobs {
			targets[fmt.Sprintf("%s-%d", verb, i)] = address
		}
	}
	file, err := filepath.Abs("../../etc/prometheus/congctl.rules.yml")
	check(t, err)
	prom := startPrometheus(t, program, fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n", file), targets)

	text, err := os.ReadFile(file)
	check(t, err)
	rules := len(regexp.MustCompile(`(?m)^ +- (record|alert): `).FindAll(text, -1))
	eventually(t, "all rules", patience, func() bool {
		well, faults := prom.rules()
		if len(faults) > 0 {
			t.Fatalf("rules that are wrong for what is scraped: %q", faults)
		}
		return well == rules
	})
	for _, name := range []string{"congctl:selected_networks:sum", "congctl:lost_close_records:rate5m", "congctl:spool:used_ratio", "congctl:store:used_ratio", "congctl:ingest_rows:rate5m"} {
		eventually(t, name, patience, func() bool { return len(prom.ask(name)) > 0 })
	}

	const lost = `sum by (job) ({__name__=~"congctl_(lost_close_records|interrupted_polls|malformed_messages|uplink_lost_records|ingest_errors)_total|congctl_window_unknown"})`
	before, windows, began := prom.all(lost, 3*jobs), prom.all("congctl_last_round_timestamp_seconds", 2*jobs), time.Now()
	eventually(t, "three more windows of up and controller", wholeTime, func() bool {
		now := prom.ask("congctl_last_round_timestamp_seconds")
		return now["congctl-up-0"] >= windows["congctl-up-0"]+3*windowS && now["congctl-controller-0"] >= windows["congctl-controller-0"]+3*windowS
	})
	span := fmt.Sprintf("[%ds]", max(1, int(time.Since(began).Seconds())))
	for job, least := range prom.all("min_over_time(up"+span+")", len(targets)) {
		if least < 1 {
			t.Errorf("a scrape of %s failed", job)
		}
	}
	if diff := cmp.Diff(before, prom.all(lost, 3*jobs)); diff != "" {
		t.Errorf("lost meanwhile (-before +after):\n%s", diff)
	}
	t.Logf("in %s: scrapes %v; share of a core %v", span, prom.ask("sum(count_over_time(up"+span+"))"), prom.ask(`rate(process_cpu_seconds_total{job=~".*-0"}`+span+")"))
}

// windowS is the length of a window of quickSettings.
const windowS = 3

// startEachPart returns where each verb's metrics are.
func startEachPart(t *testing.T) map[string]string {
	t.Helper()
	p := newPipeline(t)
	p.cfg.Metrics, p.cfg.BatchWait = freePort(t), 200*time.Millisecond
	p.start()
	p.send("chi", batchtest.Clients(t, rand.New(rand.NewPCG(1, 2)), "chi", time.Now().Unix()/300*300-300, 1, 4, 50))

	office, host, alone := quickSettings(), quickSettings(), quickSettings()
	office.Metrics, host.Metrics, alone.Metrics = freePort(t), freePort(t), freePort(t)
	f := newFleetOf(t, office, "")
	f.agent("edge-1", host).start()
	cg, err := newCgroup(fmt.Sprintf("congctl-scraped-%d", os.Getpid())) // the other one is the agent's
	check(t, err)
	t.Cleanup(func() { check(t, cg.Close()) })
	e := newEdge(t, alone)
	e.program = func(args ...string) *exec.Cmd { return program(append(args, "--cgroup", cg.Path)...) }
	e.start()
	startCrowd(t, 1000)
	return map[string]string{"up": alone.Metrics, "agent": host.Metrics, "controller": office.Metrics, "ingest": p.cfg.Metrics}
}
