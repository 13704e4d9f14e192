package world

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/outcome"
)

// release is `uname -r`.
func release() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// hz is the kernel's tick: what a coarse clock resolves (TICK_NSEC).
func hz() int {
	var ts unix.Timespec
	if unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &ts) != nil || ts.Nano() <= 0 {
		return 0
	}
	return int((1_000_000_000 + ts.Nano()/2) / ts.Nano())
}

// load is what /proc has counted so far.
type load struct {
	at      time.Time
	idle    time.Duration // of all CPUs
	cpus    int
	dropped uint64 // packets that a CPU's backlog had no room for
}

func readLoad() (l load, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return l, fmt.Errorf("read CPU time: %w", err)
	}
	l.at = time.Now()
	if l.idle, l.cpus, err = idleTime(string(stat)); err != nil {
		return l, err
	}
	soft, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		return l, fmt.Errorf("read softnet: %w", err)
	}
	l.dropped, err = softnetDropped(soft)
	return l, err
}

// idleTime is what the CPUs' lines of /proc/stat say: idle and iowait. A kernel without
// ticks while idle measures these exactly and only samples the others, at its ticks.
func idleTime(stat string) (idle time.Duration, cpus int, err error) {
	const userHZ = 100
	for line := range strings.Lines(stat) {
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "cpu") || len(words) < 6 || words[0] == "cpu" {
			continue
		}
		cpus++
		for _, w := range words[4:6] {
			n, err := strconv.ParseInt(w, 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("read CPU time: %w", err)
			}
			idle += time.Duration(n) * time.Second / userHZ
		}
	}
	if cpus == 0 {
		return 0, 0, errors.New("read CPU time: /proc/stat names no CPU")
	}
	return idle, cpus, nil
}

// softnetDropped adds the second column, one line for each CPU, hexadecimal.
func softnetDropped(text []byte) (sum uint64, err error) {
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) < 2 {
			return 0, fmt.Errorf("read softnet: line %q", line)
		}
		n, err := strconv.ParseUint(string(words[1]), 16, 64)
		if err != nil {
			return 0, fmt.Errorf("read softnet: %w", err)
		}
		sum += n
	}
	return sum, nil
}

// since fills in what the machine did between two loads.
func (l load) since(before load, h *outcome.Host) {
	if all := l.at.Sub(before.at) * time.Duration(l.cpus); all > 0 {
		h.BusyShare = min(max(1-float64(l.idle-before.idle)/float64(all), 0), 1)
	}
	h.SoftnetDropped = l.dropped - before.dropped
}

// told are sysctls that a result tells besides those that were set.
var told = []string{
	"net.ipv4.tcp_congestion_control", "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat",
	"net.ipv4.tcp_sack", "net.ipv4.tcp_timestamps", "net.ipv4.tcp_window_scaling", "net.ipv4.tcp_early_retrans",
	"net.ipv4.tcp_recovery", "net.ipv4.tcp_limit_output_bytes", "net.ipv4.tcp_min_tso_segs",
}

// readSysctls reads back, in the sender's namespace, what was set and what is told. A
// key that this kernel lacks is left out.
func readSysctls(n *node, set []setting) (out map[string]string, err error) {
	out = map[string]string{}
	keys := told
	for _, s := range set {
		keys = append(keys[:len(keys):len(keys)], s.key)
	}
	err = n.ns.Do(func() error {
		for _, key := range keys {
			if b, err := os.ReadFile(procSys(key)); err == nil {
				out[key] = strings.TrimSpace(string(b))
			}
		}
		return nil
	})
	return out, err
}

// cachedMetrics counts the destinations that TCP remembers in the sender's namespace
// (tcp_metrics over generic netlink, net/ipv4/tcp_metrics.c).
func cachedMetrics(n *node) (count int, err error) {
	const getCommand, version = 1, 1 // TCP_METRICS_CMD_GET, TCP_METRICS_GENL_VERSION
	err = n.ns.Do(func() error {
		family, err := netlink.GenlFamilyGet("tcp_metrics")
		if err != nil {
			return err
		}
		req := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
		req.AddData(&nl.Genlmsg{Command: getCommand, Version: version})
		all, err := req.Execute(unix.NETLINK_GENERIC, 0)
		count = len(all)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count tcp_metrics: %w", err)
	}
	return count, nil
}
