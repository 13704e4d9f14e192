package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/listener"
)

// prometheusProgram is one of a real Prometheus.
func prometheusProgram(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("CONGCTL_PROMETHEUS_CACHE")
	if dir == "" {
		t.Skip("needs Prometheus: CONGCTL_PROMETHEUS_CACHE names a folder that tools/prometheus.sh has filled; any kernel")
	}
	return filepath.Join(dir, "usr/bin", name)
}

// TestAlertRules: promtool fires each alert once and keeps it silent once, and the runbook has each.
func TestAlertRules(t *testing.T) {
	promtool := prometheusProgram(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "congctl.rules.yml"}, {"test", "rules", "congctl.rules.test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../../etc/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestPrometheusScrapes a page of each verb with a real Prometheus, and finds every metric there.
func TestPrometheusScrapes(t *testing.T) {
	program, dir, own := prometheusProgram(t, "prometheus"), t.TempDir(), freePort(t)
	if os.Getenv(cgroupEnv) != "" { // root's tests have a network namespace of their own
		check(t, prepareLoopback())
	}
	targets := ""
	for _, m := range pageMakers() {
		s, err := listener.Listen(t.Context(), listener.Options{Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
		check(t, err)
		well := func(context.Context) error { return nil }
		go func() {
			_ = s.Serve(t.Context(), listener.Source{Alive: well, Ready: well, Collect: func(_ context.Context, p *metrics.Page) { m.write(p) }})
		}()
		targets += fmt.Sprintf("  - job_name: congctl-%s\n    static_configs: [{targets: [%q]}]\n", m.verb, s.Addr())
	}
	check(t, os.WriteFile(dir+"/p.yml", []byte("global: {scrape_interval: 1s}\nscrape_configs:\n"+targets), 0o600))
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+dir+"/p.yml", "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+own)
	log := &lockedBuffer{}
	cmd.Stderr = log
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	count := func(query string) int {
		var answer struct{ Data struct{ Result []any } }
		if status, body, err := tryWeb(own, "/api/v1/query?query="+url.QueryEscape(query)); err == nil && status == 200 {
			check(t, json.Unmarshal(body, &answer))
		}
		return len(answer.Data.Result)
	}
	eventually(t, "four scrapes", patience, func() bool {
		if count(`up == 1`) == len(pageMakers()) {
			return true
		}
		if strings.Contains(log.String(), "level=error") {
			t.Fatal(log.String())
		}
		return false
	})
	for _, p := range metricPages(t) {
		for _, f := range p.families {
			name := userName(f)
			if f.Type == "histogram" {
				name += "_bucket"
			}
			if count(fmt.Sprintf(`%s{job="congctl-%s"}`, name, p.verb)) == 0 {
				t.Errorf("%s of %s is not there", name, p.verb)
			}
		}
	}
}
