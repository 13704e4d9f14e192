package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/metrics/metricstest"
)

// freePort returns an address that nothing listens on.
func freePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(tb, err)
	check(tb, l.Close())
	return l.Addr().String()
}

// webPage asks a process's listener for a page.
func webPage(tb testing.TB, address, path string) (status int, body []byte) {
	tb.Helper()
	status, body, err := tryWeb(address, path)
	check(tb, err)
	return status, body
}

func tryWeb(address, path string) (status int, body []byte, err error) {
	res, err := (&http.Client{Timeout: patience}).Get("http://" + address + path)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// serves checks that a process serves the metrics that docs/metrics.md lists for its verb, and returns them.
func serves(t *testing.T, address, verb string) map[string]metricstest.Family {
	t.Helper()
	_, body := webPage(t, address, "/metrics")
	byName, got, want := map[string]metricstest.Family{}, []string{}, []string{}
	for _, f := range parsePage(t, body) {
		byName[f.Name], got = f, append(got, f.Name)
	}
	for _, p := range metricPages(t) {
		if p.verb == verb {
			for _, f := range p.families {
				want = append(want, f.Name)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s serves\n%q\nits page is\n%q", verb, got, want)
	}
	return byName
}

// TestUpServesMetrics: what they say agrees with the status; health and readiness tell why; and a port in
// use says which key to change.
func TestUpServesMetrics(t *testing.T) {
	cfg := quickSettings()
	cfg.Metrics = freePort(t)
	e := newEdge(t, cfg)
	e.start()
	if status, body := webPage(t, cfg.Metrics, "/healthz"); status != http.StatusOK {
		t.Errorf("healthz: %d %s", status, body)
	}
	eventually(t, "ready", patience, func() bool {
		status, body := webPage(t, cfg.Metrics, "/readyz")
		var v struct {
			OK     bool
			Reason string
		}
		check(t, json.Unmarshal(body, &v))
		if v.OK != (status == http.StatusOK) || v.OK == (v.Reason != "") {
			t.Fatalf("readyz: %d %s", status, body)
		}
		return v.OK
	})
	e.must("stop")
	time.Sleep(time.Second) // a page is served again for as long
	all := serves(t, cfg.Metrics, "up")
	s := e.awaitStatus("a stop", func(s control.Status) bool { return s.Stopped })
	if polls := all["congctl_polls"].Samples[0].Value; polls < 1 || polls > float64(s.Agent.Polls) {
		t.Errorf("%v polls, status %d", polls, s.Agent.Polls)
	}
	if all["congctl_stopped"].Samples[0].Value != 1 || all["congctl_plan_serial"].Samples[0].Value != float64(s.Agent.Plan) {
		t.Errorf("%+v, %+v; status %+v", all["congctl_stopped"], all["congctl_plan_serial"], s)
	}

	other := newEdge(t, cfg)
	other.launch()
	if code := other.ended(); code != exitFailed || !strings.Contains(other.log.String(), "listen on metrics.listen "+cfg.Metrics) || !strings.Contains(other.log.String(), "another port as metrics.listen") {
		t.Errorf("exit code %d:\n%s", code, other.log.String())
	}
}

// TestStallIsUnhealthy: a process whose polls fail is not alive, and says since when.
func TestStallIsUnhealthy(t *testing.T) {
	u := &edgeHost{begunNs: present().boot}
	u.cfg.Poll = time.Second
	u.agent = agent.New(agent.Options{}, agent.Deps{})
	if err := u.alive(t.Context()); err != nil {
		t.Errorf("at its start: %v", err)
	}
	u.begunNs -= int64(aliveFor(time.Second) + time.Second)
	if err := u.alive(t.Context()); err == nil || !strings.Contains(err.Error(), "the last poll that succeeded was 3") {
		t.Errorf("later: %v", err)
	}
}

// TestFleetServesMetrics of a controller and an agent, each on its own port.
func TestFleetServesMetrics(t *testing.T) {
	cfg := quickSettings()
	cfg.Metrics = freePort(t)
	f := newFleetOf(t, cfg, "")
	own := quickSettings()
	own.Metrics = freePort(t)
	host := f.agent("edge-1", own)
	host.start()
	host.awaitStatus("a plan", func(s control.Status) bool { return s.Agent.Plan > 0 })
	eventually(t, "a ready controller", patience, func() bool {
		status, _ := webPage(t, cfg.Metrics, "/readyz")
		return status == http.StatusOK
	})
	eventually(t, "a connected host", patience, func() bool {
		for _, s := range serves(t, cfg.Metrics, "controller")["congctl_hosts"].Samples {
			if s.Labels == `pop="chi",state="connected"` && s.Value == 1 {
				return true
			}
		}
		return false
	})
	eventually(t, "an agent whose answer was taken", patience, func() bool {
		return serves(t, own.Metrics, "agent")["congctl_last_ack_timestamp_seconds"].Samples[0].Value > 0
	})
}

// TestUpTellsSystemd that it is ready, reloads, lives and ends.
func TestUpTellsSystemd(t *testing.T) {
	e := newEdge(t, quickSettings())
	name := e.dir + "/notify"
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	check(t, err)
	defer l.Close()
	heard := func(want string) {
		t.Helper()
		b := make([]byte, 256)
		check(t, l.SetReadDeadline(time.Now().Add(patience)))
		for {
			n, err := l.Read(b)
			if err != nil {
				t.Fatalf("no %s: %v\n%s", want, err, e.log.String())
			}
			if strings.HasPrefix(string(b[:n]), want) {
				return
			}
		}
	}
	e.launch("NOTIFY_SOCKET="+name, "WATCHDOG_USEC=400000")
	heard("READY=1")
	heard("STATUS=")
	heard("WATCHDOG=1")
	e.awaitStatus("first poll", func(s control.Status) bool { return s.Agent.Polls > 0 })
	e.signal(1)
	heard("RELOADING=1\nMONOTONIC_USEC=")
	heard("READY=1")
	e.stop()
	heard("STOPPING=1")
}

// BenchmarkScrape reports what a scrape of up costs its process, ten a second.
func BenchmarkScrape(b *testing.B) {
	cfg := quickSettings()
	cfg.Window, cfg.Poll, cfg.Expiry = "60s", "30s", "3m" // no poll in between
	cfg.Metrics = freePort(b)
	e := newEdge(b, cfg)
	e.start()
	startCrowd(b, benchSockets())
	size := 0
	idle, _ := e.memory()
	for b.Loop() {
		before := e.cpu()
		for range 100 {
			_, body := webPage(b, cfg.Metrics, "/metrics")
			size = len(body)
			time.Sleep(100 * time.Millisecond)
		}
		b.ReportMetric(1e3*(e.cpu()-before)/100, "cpu-ms/scrape")
	}
	scraped, _ := e.memory()
	b.ReportMetric(scraped-idle, "rss-MB-more")
	b.ReportMetric(float64(size), "bytes")
	b.Log(fmt.Sprint(benchSockets(), " sockets"))
}
