package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
)

// benchSockets: set CONGCTL_BENCH_SOCKETS=100000 for the figure that is promised,
// at most 120 MB, and CONGCTL_TEST_BINARY to measure what is shipped.
func benchSockets() int {
	n, err := strconv.Atoi(os.Getenv("CONGCTL_BENCH_SOCKETS"))
	if err != nil {
		n = 2000
	}
	return n
}

// BenchmarkUpRSS reports the memory of `up`, and of `agent`, beside a crowd of followed sockets:
// over three windows of three polls in which nothing was asked: the median and the most (rss), without what other
// processes share (pss); its peak, which is at the start, and the live heap; and the CPU of a poll.
func BenchmarkUpRSS(b *testing.B) {
	cfg := quickSettings()
	cfg.Window, cfg.Poll, cfg.Expiry = "6s", "2s", "18s"
	b.Run("up", func(b *testing.B) { benchMemory(b, newEdge(b, cfg)) })
	b.Run("agent", func(b *testing.B) { benchMemory(b, newFleetOf(b, cfg, "").agent("edge-1", cfg)) })
}

func benchMemory(b *testing.B, e *edge) {
	n := benchSockets()
	for b.Loop() {
		e.start("GODEBUG=gctrace=1")
		idle, _ := e.memory()
		startCrowd(b, n)
		first := e.awaitStatus("crowd seen", func(s control.Status) bool { return s.Agent.Ledger.Live >= n })
		before := e.cpu()
		var all []float64
		for range 40 { // ten polls: a status that is asked for costs more than they do
			time.Sleep(500 * time.Millisecond)
			now, _ := e.memory()
			all = append(all, now)
		}
		polls := e.cpu() - before
		_, peak := e.memory()
		slices.Sort(all)
		e.awaitStatus("ten polls and a window", func(s control.Status) bool {
			return s.Agent.Polls >= first.Agent.Polls+10 && s.Agent.Ledger.Emitted[0] > 0
		})
		b.ReportMetric(float64(n), "sockets")
		b.ReportMetric(idle, "idle-rss-MB")
		b.ReportMetric(all[len(all)/2], "rss-MB")
		b.ReportMetric(all[len(all)-1], "most-rss-MB")
		b.ReportMetric(peak, "peak-MB")
		b.ReportMetric(e.pss(), "pss-MB")
		b.ReportMetric(e.liveHeap(), "heap-MB")
		b.ReportMetric(1000*polls/10, "cpu-ms/poll")
		e.stop()
	}
}

// ticks a second of /proc/PID/stat, on every architecture of Linux (USER_HZ).
const ticks = 100

// cpu returns the seconds of CPU that the process has used.
func (e *edge) cpu() float64 {
	e.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.cmd.Process.Pid))
	check(e.t, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	check(e.t, errors.Join(err1, err2))
	return float64(user+system) / ticks
}

// memory returns resident set and its peak in MB of a million bytes.
func (e *edge) memory() (rss, peak float64) {
	e.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.cmd.Process.Pid))
	check(e.t, err)
	for line := range strings.Lines(string(text)) {
		var kB float64
		switch key, value, _ := strings.Cut(line, ":"); key {
		case "VmRSS":
			_, err = fmt.Sscan(value, &kB)
			rss = kB * 1024 / 1e6
		case "VmHWM":
			_, err = fmt.Sscan(value, &kB)
			peak = kB * 1024 / 1e6
		}
		check(e.t, err)
	}
	return rss, peak
}

// pss is the resident set without the part of other processes, in MB of a million bytes.
func (e *edge) pss() float64 {
	e.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", e.cmd.Process.Pid))
	check(e.t, err)
	kB, err := strconv.ParseFloat(regexp.MustCompile(`Pss: +(\d+) kB`).FindStringSubmatch(string(text))[1], 64)
	check(e.t, err)
	return kB * 1024 / 1e6
}

var gcLine = regexp.MustCompile(`(?m)^gc \d+ @.* \d+->\d+->(\d+) MB`)

// liveHeap is what the last collection left, in MB (of 2^20 bytes, as the runtime prints it).
func (e *edge) liveHeap() float64 {
	all := gcLine.FindAllStringSubmatch(e.log.String(), -1)
	if len(all) == 0 {
		return 0
	}
	mb, _ := strconv.ParseFloat(all[len(all)-1][1], 64)
	return mb
}
