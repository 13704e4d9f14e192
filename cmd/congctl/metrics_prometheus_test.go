package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// TestPromtoolReadsPlain: a page of each verb in the text format 0.0.4, without a fault and without a finding.
func TestPromtoolReadsPlain(t *testing.T) {
	promtool := prometheusProgram(t, "promtool")
	for _, m := range pageMakers() {
		var p metrics.Page
		m.write(&p)
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(metrics.Plain(p.Text()))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", m.verb, err, out)
		}
	}
}

// TestPrometheusScrapes a page of each verb with a real Prometheus, and finds every metric there.
func TestPrometheusScrapes(t *testing.T) {
	program := prometheusProgram(t, "prometheus")
	if os.Getenv(cgroupEnv) != "" { // root's tests have a network namespace of their own
		check(t, prepareLoopback())
	}
	targets := map[string]string{}
	for _, m := range pageMakers() {
		s, err := listener.Listen(t.Context(), listener.Options{Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
		check(t, err)
		well := func(context.Context) error { return nil }
		go func() {
			_ = s.Serve(t.Context(), listener.Source{Alive: well, Ready: well, Collect: func(_ context.Context, p *metrics.Page) { m.write(p) }})
		}()
		targets[m.verb] = s.Addr()
	}
	prom := startPrometheus(t, program, "global: {scrape_interval: 1s}\n", targets)
	for _, p := range metricPages(t) {
		for _, f := range p.families {
			name := userName(f)
			if f.Type == "histogram" {
				name += "_bucket"
			}
			eventually(t, name+" of "+p.verb, patience, func() bool { return len(prom.ask(fmt.Sprintf(`%s{job="congctl-%s"}`, name, p.verb))) > 0 })
		}
	}
}

// prometheus is a real one that runs.
type prometheus struct {
	t   *testing.T
	own string // address
}

// startPrometheus returns when it has scraped each verb's target.
func startPrometheus(t *testing.T, program, global string, targets map[string]string) prometheus {
	t.Helper()
	dir, p := t.TempDir(), prometheus{t, freePort(t)}
	global += "scrape_configs:\n"
	for verb, address := range targets {
		global += fmt.Sprintf("  - job_name: congctl-%s\n    static_configs: [{targets: [%q]}]\n", verb, address)
	}
	check(t, os.WriteFile(dir+"/p.yml", []byte(global), 0o600))
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+dir+"/p.yml", "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+p.own)
	log := &lockedBuffer{}
	cmd.Stderr = log
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, "a scrape of each", patience, func() bool {
		if strings.Contains(log.String(), "level=error") {
			t.Fatal(log.String())
		}
		return len(p.ask(`up == 1`)) == len(targets)
	})
	return p
}

// ask returns the values of a query by job or, without one, by name; none while it does not answer.
func (p prometheus) ask(query string) map[string]float64 {
	p.t.Helper()
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	status, body, err := tryWeb(p.own, "/api/v1/query?query="+url.QueryEscape(query))
	if err != nil || status != 200 {
		return nil
	}
	check(p.t, json.Unmarshal(body, &answer))
	got := map[string]float64{}
	for _, r := range answer.Data.Result {
		v, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		check(p.t, err)
		got[cmp.Or(r.Metric["job"], r.Metric["__name__"])] += v
	}
	return got
}

// all waits for an answer with so many values: a target whose last scrape came too late has none until the next one.
func (p prometheus) all(query string, n int) (values map[string]float64) {
	p.t.Helper()
	eventually(p.t, query, patience, func() bool { values = p.ask(query); return len(values) == n })
	return values
}

// rules returns the rules that were evaluated without a fault, and the faults of others.
func (p prometheus) rules() (well int, faults []string) {
	p.t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	_, body := webPage(p.t, p.own, "/api/v1/rules")
	check(p.t, json.Unmarshal(body, &answer))
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			switch r.Health {
			case "ok":
				well++
			case "err":
				faults = append(faults, r.Name+": "+r.LastError)
			}
		}
	}
	return well, faults
}
