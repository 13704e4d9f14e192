package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/fleet/uplink"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/metricstest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// page is what one verb serves, from imagined counts.
type page struct {
	verb     string
	families []metricstest.Family
}

func parsePage(t *testing.T, text []byte) []metricstest.Family {
	t.Helper()
	all, err := metricstest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// exampleView is a PoP in which all that can be known is known.
func exampleView() popView {
	v := popView{name: "chi"}
	v.m.Effect = effect.Fleet{Pairs: 40, Known: true, LogRatio: 0.2, Low: 0.1, High: 0.3}
	v.m.Cost = effect.Cost{Pairs: 40, Treated: 0.03, Control: 0.01}
	v.m.Taken = &policy.Taken{Share: 0.31, Low: 0.12, High: 0.5}
	v.m.Selected = []policy.Selected{{State: policy.StatePromoted, PerfBytesPerS: 5e5}}
	return v
}

// pageMaker writes the page of one verb.
type pageMaker struct {
	verb  string
	parts []func(*metrics.Page)
}

func (m pageMaker) write(p *metrics.Page) {
	processMetrics(p)
	for _, part := range m.parts {
		part(p)
	}
}

func pageMakers() []pageMaker {
	host := func(p *metrics.Page) {
		hostMetrics(p, agent.Status{Alarms: []string{"poll: x"}}, enforce.TierGood, instant{})
	}
	rounds := func(p *metrics.Page) {
		roundMetrics(p, []popView{exampleView()})
		networkMetrics(p, []popView{exampleView()}, true)
	}
	away := func(p *metrics.Page) {
		uplinkMetrics(p, uplink.Status{}, 1)
		(&contact{}).metrics(p)
	}
	roll := func(p *metrics.Page) {
		rollMetrics(p, []popRoll{{name: "chi", state: rollout.State{Hosts: map[string]*rollout.Host{}}}}, time.Unix(0, 0))
	}
	type parts = []func(*metrics.Page)
	return []pageMaker{
		{"up", parts{host, rounds}}, {"agent", parts{host, away}}, {"controller", parts{rounds, roll}},
		{"ingest", parts{func(p *metrics.Page) { newIngestMeter().collect(p) }}},
	}
}

type fakeQueue struct{}

func (fakeQueue) Behind() int64  { return 7 }
func (fakeQueue) Lost() uint64   { return 3 }
func (fakeQueue) Unread() uint64 { return 2 }

func metricPages(t *testing.T) (all []page) {
	t.Helper()
	for _, m := range pageMakers() {
		var p metrics.Page
		m.write(&p)
		all = append(all, page{m.verb, parsePage(t, p.Text())})
	}
	return all
}

var goodName = regexp.MustCompile(`^(congctl|process|go)_[a-z_]+$`)

// TestMetricNames: conventional names, with a unit where there is one, and help that a person understands.
func TestMetricNames(t *testing.T) {
	for _, p := range metricPages(t) {
		for _, f := range p.families {
			last := f.Help[len(f.Help)-1:]
			if !goodName.MatchString(f.Name) || len(f.Help) < 15 || !strings.Contains(".)1", last) || strings.HasSuffix(f.Name, "_total") {
				t.Errorf("%s: %s: %q", p.verb, f.Name, f.Help)
			}
			if len(f.Samples) == 0 {
				t.Errorf("%s: the example has no sample of %s", p.verb, f.Name)
			}
		}
	}
}

// TestMetricsAreDocumented: docs/metrics.md lists exactly what is served.
func TestMetricsAreDocumented(t *testing.T) {
	const name, begin, end = "../../docs/metrics.md", "<!-- metrics: -rewrite-docs -->\n", "<!-- end -->\n"
	b, err := os.ReadFile(name)
	check(t, err)
	before, rest, ok1 := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no %q and %q", name, begin, end)
	}
	want := before + begin + metricsTable(metricPages(t)) + end + after
	if *rewriteDocs {
		check(t, os.WriteFile(name, []byte(want), 0o644))
	} else if string(b) != want {
		t.Errorf("the table of %s is not what is served: go test ./cmd/congctl -run TestMetricsAreDocumented -rewrite-docs", name)
	}
}

func metricsTable(pages []page) string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | of | meaning |\n|---|---|---|---|---|\n")
	told := map[string]bool{}
	for _, p := range pages {
		for _, f := range p.families {
			if told[f.Name] {
				continue
			}
			told[f.Name] = true
			var of []string
			for _, q := range pages {
				if slices.ContainsFunc(q.families, func(g metricstest.Family) bool { return g.Name == f.Name }) {
					of = append(of, q.verb)
				}
			}
			if len(of) == len(pages) {
				of = []string{"all"}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", userName(f), f.Type, labelNames(f), strings.Join(of, ", "), strings.ReplaceAll(f.Help, `\"`, `"`))
		}
	}
	return b.String()
}

// userName is the name by which queries ask.
func userName(f metricstest.Family) string {
	if f.Type == "counter" {
		return f.Name + "_total"
	}
	return f.Name
}

var labelName = regexp.MustCompile(`([a-z_]+)="`)

func labelNames(f metricstest.Family) string {
	var names []string
	for _, m := range labelName.FindAllStringSubmatch(f.Samples[0].Labels, -1) {
		if m[1] != "le" {
			names = append(names, "`"+m[1]+"`")
		}
	}
	return strings.Join(names, ", ")
}

// TestNetworksAreOptIn, and bounded.
func TestNetworksAreOptIn(t *testing.T) {
	v := exampleView()
	v.m.Selected = make([]policy.Selected, maxNetworks+5)
	for i := range v.m.Selected {
		v.m.Selected[i].Prefix = record.Prefix(uint64(0x2001_0db8_0000_0000+i<<8) | 56)
	}
	for on, want := range map[bool]int{false: 0, true: maxNetworks} {
		var p metrics.Page
		networkMetrics(&p, []popView{v}, on)
		if got := len(parsePage(t, p.Text())[0].Samples); got != want {
			t.Errorf("asked for %v: %d networks, want %d", on, got, want)
		}
	}
}

var metricInQuery = regexp.MustCompile(`\b(?:congctl|process)_[a-z_]+\b`)

// TestRulesAndDashboardsNameMetrics: a query for what no verb serves shows nothing, and never fires.
func TestRulesAndDashboardsNameMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, p := range metricPages(t) {
		for _, f := range p.families {
			known[userName(f)] = true
			if f.Type == "histogram" {
				known[f.Name+"_bucket"], known[f.Name+"_sum"], known[f.Name+"_count"] = true, true, true
			}
		}
	}
	files := []string{"../../etc/prometheus/congctl.rules.yml", "../../etc/grafana/congctl-prometheus.json"}
	for _, name := range files {
		b, err := os.ReadFile(name)
		check(t, err)
		used := metricInQuery.FindAllString(string(b), -1)
		if len(used) < 10 {
			t.Errorf("%s uses %d metrics", name, len(used))
		}
		for _, m := range used {
			if !known[m] {
				t.Errorf("%s: no verb serves %s", name, m)
			}
		}
	}
}

// dashboard is the part of Grafana's model that is checked.
type dashboard struct {
	Title, UID string
	Panels     []struct {
		ID           int
		Title, Type  string
		Description  string
		Datasource   struct{ Type, UID string }
		GridPos      struct{ H, W, X, Y int }
		Targets      []struct{ Expr, RawSQL string }
		CollapsedRow bool
	}
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

// TestDashboards: each panel has a title, a query and a place of its own, and asks the data source that
// the reader chooses.
func TestDashboards(t *testing.T) {
	names, err := filepath.Glob("../../etc/grafana/*.json")
	check(t, err)
	if len(names) != 2 {
		t.Errorf("dashboards: %q", names)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		check(t, err)
		var d dashboard
		check(t, json.Unmarshal(b, &d))
		if d.Title == "" || d.UID == "" || len(d.Panels) < 5 || len(d.Templating.List) == 0 || d.Templating.List[0].Type != "datasource" {
			t.Errorf("%s: %q, %d panels, variables %+v", name, d.Title, len(d.Panels), d.Templating.List)
		}
		ids, cells := map[int]bool{}, map[[2]int]bool{}
		for _, p := range d.Panels {
			if p.Title == "" || p.Description == "" || ids[p.ID] || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: panel %+v", name, p)
			}
			ids[p.ID] = true
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					if cells[at] {
						t.Errorf("%s: %s lies on another panel", name, p.Title)
					}
					cells[at] = true
				}
			}
			for _, q := range p.Targets {
				if q.Expr == "" && q.RawSQL == "" {
					t.Errorf("%s: %s asks nothing", name, p.Title)
				}
			}
		}
	}
}

// TestRunbookHasEachAlert, with what it means and what to do.
func TestRunbookHasEachAlert(t *testing.T) {
	rules, err := os.ReadFile("../../etc/prometheus/congctl.rules.yml")
	check(t, err)
	tests, err := os.ReadFile("../../etc/prometheus/congctl.rules.test.yml")
	check(t, err)
	book, err := os.ReadFile("../../docs/runbook.md")
	check(t, err)
	all := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	if len(all) < 10 || len(all) != strings.Count(string(book), "\n## ") {
		t.Errorf("%d alerts, %d entries of the runbook", len(all), strings.Count(string(book), "\n## "))
	}
	for _, m := range all {
		_, entry, ok := strings.Cut(string(book), "\n## "+m[1]+"\n")
		entry, _, _ = strings.Cut(entry, "\n## ")
		if !ok || !strings.Contains(entry, "**Do:**") || !strings.Contains(string(rules), "docs/runbook.md#"+strings.ToLower(m[1])+"\n") {
			t.Errorf("%s: no entry of the runbook says what to do, or no rule leads there: %q", m[1], entry)
		}
		if fires := strings.Count(string(tests), "alertname: "+m[1]+"\n        exp_alerts:\n"); fires != 1 || strings.Count(string(tests), "alertname: "+m[1]+"\n        exp_alerts: []") != 1 {
			t.Errorf("%s: fired by %d tests; want one, and one that keeps it silent", m[1], fires)
		}
	}
}

// BenchmarkPage makes the page of up.
func BenchmarkPage(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var p metrics.Page
		pageMakers()[0].write(&p)
	}
}
