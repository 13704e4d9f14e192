package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
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
// after six polls and a window's end (rss), its peak, and the live heap; and the CPU of a poll.
func BenchmarkUpRSS(b *testing.B) {
	cfg := quickSettings()
	cfg.Window, cfg.Poll, cfg.Expiry = "12s", "2s", "36s"
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
		time.Sleep(10 * time.Second) // five polls: a status that is asked for costs more than they do
		polls := e.cpu() - before
		e.awaitStatus("six polls and a window", func(s control.Status) bool {
			return s.Agent.Polls >= first.Agent.Polls+7 && s.Agent.Ledger.Emitted[0] > 0
		})
		now, peak := e.memory()
		b.ReportMetric(float64(n), "sockets")
		b.ReportMetric(idle, "idle-rss-MB")
		b.ReportMetric(now, "rss-MB")
		b.ReportMetric(peak, "peak-MB")
		b.ReportMetric(e.liveHeap(), "heap-MB")
		b.ReportMetric(1000*polls/5, "cpu-ms/poll")
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
