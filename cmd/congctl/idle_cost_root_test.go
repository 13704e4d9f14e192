//go:build !small

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/control"
)

// What metrics and dashboard cost `up`: off, on with nobody looking, and looked at. The three take turns over the
// same sockets and the same store, so that what else the machine does hits them alike.

const (
	costNetworks = 5000
	costWindow   = 4 * time.Second // and poll: one of each in every sample
	costRest     = costWindow/2 - 100*time.Millisecond
	costWindows  = 3 // samples of a turn
)

// costCase is one of the three.
type costCase struct {
	name     string
	on, look bool
	cpu      []float64 // % of a core, of each window
	rest     []float64 // the same without its dump and its round: what runs by itself
	lateMs   []float64 // how long after its end each window had been decided
	scanMs   []float64 // a dump, the mean of each turn
	missed   float64   // dumps, windows and close records
	rss, pss float64   // MB, the most of its turns
	heap     float64
	looker   *looker // of the last turn
}

// BenchmarkIdleCost needs CONGCTL_BENCH_SOCKETS=100000 and two iterations for the figures of docs/metrics.md.
func BenchmarkIdleCost(b *testing.B) {
	n := benchSockets()
	cfg := quickSettings()
	cfg.Window, cfg.Poll, cfg.Expiry = costWindow.String(), costWindow.String(), "1m"
	e := newEdge(b, cfg)
	check(b, wideNetworks())
	fast(b)
	e.prime(n)
	churn(b)
	cases := []*costCase{{name: "off"}, {name: "quiet", on: true}, {name: "looked", on: true, look: true}}
	for b.Loop() {
		for _, c := range cases {
			c.turn(b, e)
		}
	}
	for _, c := range cases {
		c.report(b)
	}
	b.ReportMetric(slices.Min(cases[1].cpu)-slices.Min(cases[0].cpu), "idle-adds-cpu-%") // other work only adds
	b.ReportMetric(median(cases[1].rest)-median(cases[0].rest), "idle-adds-rest-cpu-%")
	b.ReportMetric(cases[1].rss-cases[0].rss, "idle-adds-rss-MB")
	b.ReportMetric(cases[1].pss-cases[0].pss, "idle-adds-pss-MB")
}

// fast speeds up the link, for 750 MB on it.
func fast(b *testing.B) {
	b.Helper()
	lo, err := netlink.LinkByName("lo")
	check(b, err)
	check(b, setTbf(lo, 20*tbfRate))
	b.Cleanup(func() { check(b, setTbf(lo, tbfRate)) })
}

// prime fills the store with a window of all networks.
func (e *edge) prime(n int) {
	e.t.Helper()
	e.start()
	startWideCrowd(e.t, n, costNetworks)
	eventually(e.t, "a window of all networks", patience, func() bool {
		var rows []control.PrefixRow
		e.ask(&rows, "prefixes")
		return len(rows) >= min(costNetworks, n/2)
	})
	e.stop()
}

func (c *costCase) turn(b *testing.B, e *edge) {
	b.Helper()
	if e.cfg.Metrics = ""; c.on {
		e.cfg.Metrics = freePort(b)
	}
	e.writeConfig()
	rounds := &roundClock{to: &lockedBuffer{}}
	e.log = rounds.to
	e.launchTo(rounds, "GODEBUG=gctrace=1")
	e.awaitStatus("a window", func(s control.Status) bool { return s.Agent.Polls > 1 && rounds.count() > 0 })
	if c.look {
		c.looker = lookAtDashboard(b, e.cfg.Metrics)
	}
	time.Sleep(time.Until(time.Now().Truncate(costWindow).Add(costWindow + costWindow/2))) // a sample has whole windows
	before, err := e.status()
	check(b, err)
	seen := rounds.count()
	for range costWindows {
		was := e.cpuNs()
		time.Sleep(costRest)
		c.rest = append(c.rest, float64(e.cpuNs()-was)/float64(costRest)*100)
		time.Sleep(costWindow - costRest)
		c.cpu = append(c.cpu, float64(e.cpuNs()-was)/float64(costWindow)*100)
	}
	after, err := e.status()
	check(b, err)
	polls := after.Agent.Polls - before.Agent.Polls
	late := rounds.since(seen)
	c.lateMs = append(c.lateMs, late...)
	c.scanMs = append(c.scanMs, 1e3*(after.Agent.DumpSeconds-before.Agent.DumpSeconds)/float64(polls))
	lost := func(s control.Status) uint64 {
		return s.Agent.InterruptedDumps + s.Agent.RingFull + s.Agent.DroppedCloses
	}
	c.missed += max(0, costWindows-float64(len(late))) + max(0, costWindows-float64(polls)) + float64(lost(after)-lost(before))
	rss, pss := e.resident()
	c.rss, c.pss, c.heap = max(c.rss, rss), max(c.pss, pss), max(c.heap, e.liveHeap())
	if c.look {
		c.looker.end()
	}
	e.stop()
}

func (c *costCase) report(b *testing.B) {
	for unit, v := range map[string]float64{
		"cpu-%": median(c.cpu), "least-cpu-%": slices.Min(c.cpu), "cpu-spread-%": slices.Max(c.cpu) - slices.Min(c.cpu), "rest-cpu-%": median(c.rest), "rss-MB": c.rss, "pss-MB": c.pss, "heap-MB": c.heap,
		"late-ms": median(c.lateMs), "latest-ms": slices.Max(c.lateMs), "scan-ms": slices.Min(c.scanMs), "missed": c.missed,
	} {
		b.ReportMetric(v, c.name+"-"+unit)
	}
	b.Logf("%s: a dump in ms %.0f", c.name, c.scanMs)
	b.Logf("%s: %% of a core in each window %.2f, between dumps %.2f; ms after a window's end until it is decided %.0f", c.name, c.cpu, c.rest, c.lateMs)
	if l := c.looker; l != nil {
		b.Logf("%d messages, %d questions and %d scrapes, without an answer %q; slowest in ms %v", l.messages, l.asked, l.scrapes, l.bad, l.slowestMs)
	}
}

// cpuNs is the processor time of the process so far, to the nanosecond: /proc has hundredths of a second.
func (e *edge) cpuNs() int64 {
	e.t.Helper()
	var t unix.Timespec
	check(e.t, unix.ClockGettime(int32(^e.cmd.Process.Pid<<3|2), &t)) // clock_getcpuclockid(3), CPUCLOCK_SCHED
	return t.Nano()
}

// resident is RSS and PSS in MB of a million bytes.
func (e *edge) resident() (rss, pss float64) {
	e.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", e.cmd.Process.Pid))
	check(e.t, err)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		kB, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "Rss:":
			rss = kB * 1024 / 1e6
		case "Pss:":
			pss = kB * 1024 / 1e6
		}
	}
	return rss, pss
}

// roundClock passes a log on and notes how long after its end each window had been decided.
type roundClock struct {
	to *lockedBuffer

	mu   sync.Mutex // guards late
	late []float64  // ms
}

var roundLine = regexp.MustCompile(`round of (\S+): `)

func (r *roundClock) Write(p []byte) (int, error) {
	now := time.Now()
	for _, m := range roundLine.FindAllSubmatch(p, -1) {
		if end, err := time.Parse(time.RFC3339, string(m[1])); err == nil {
			r.mu.Lock()
			r.late = append(r.late, float64(now.Sub(end))/1e6)
			r.mu.Unlock()
		}
	}
	return r.to.Write(p)
}

func (r *roundClock) count() int { return len(r.since(0)) }

func (r *roundClock) since(n int) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.late[n:])
}

func median(all []float64) float64 {
	s := slices.Sorted(slices.Values(all))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
