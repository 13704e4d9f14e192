package world

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/linux/ethtool"
)

// Release is `uname -r`.
func Release() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// hz returns the kernel's tick: the resolution of a coarse clock (TICK_NSEC).
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

// idleTime sums idle and iowait of the CPUs in /proc/stat. A kernel without ticks while
// idle measures these exactly and only samples the others, at its ticks.
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

// since returns the machine's work between two loads.
func (l load) since(before load) outcome.Host {
	wall := l.at.Sub(before.at)
	h := outcome.Host{SoftnetDropped: l.dropped - before.dropped, DurationUs: uint64(wall / time.Microsecond)}
	if all := wall * time.Duration(l.cpus); all > 0 {
		h.BusyShare = min(max(1-float64(l.idle-before.idle)/float64(all), 0), 1)
	}
	return h
}

// told are sysctls that a result reports besides those that were set.
var told = []string{
	"net.ipv4.tcp_congestion_control", "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat",
	"net.ipv4.tcp_sack", "net.ipv4.tcp_timestamps", "net.ipv4.tcp_window_scaling", "net.ipv4.tcp_early_retrans",
	"net.ipv4.tcp_recovery", "net.ipv4.tcp_limit_output_bytes", "net.ipv4.tcp_min_tso_segs",
}

// readSysctls reads back, in the sender's namespace, the sysctls that were set or are
// reported. It leaves out keys that this kernel lacks.
func readSysctls(n *node, set []Setting) (out map[string]string, err error) {
	out = map[string]string{}
	keys := told
	for _, s := range set {
		keys = append(keys[:len(keys):len(keys)], s.Key)
	}
	err = n.NS.Do(func() error {
		for _, key := range keys {
			if value, err := readSysctl(key); err == nil {
				out[key] = value
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
	err = n.NS.Do(func() error {
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

// What other worlds need of the machine as well.

// SegmentationOff makes a link of the calling thread's namespace take single packets: the
// kernel cuts super-packets between the qdisc and the link. Checksums are still left to
// the link, which in a veth means that nothing computes them.
func SegmentationOff(link string) error {
	return errors.Join(ethtool.TSO.Set(link, false), ethtool.GSO.Set(link, false))
}

// limits that no namespace has: the backlog between two links takes whole bursts, and
// small machines do not run into TCP's own memory limit.
var limits = []Setting{
	{"net.core.netdev_max_backlog", "100000"},
	{"net.ipv4.tcp_mem", "1000000 1000000 1000000"}, // pages
}

// OwnMachine raises the limits that no namespace has and lets namespaces default to any
// of the congestion controls: for a machine that is all ours.
func OwnMachine(congs string) error {
	return apply(slices.Concat([]Setting{{"net.ipv4.tcp_allowed_congestion_control", congs}}, limits))
}

// Busy measures from now on: the share of CPU time that was not idle, packets that the
// machine's backlog dropped, and how long it has been.
func Busy() (read func() (outcome.Host, error), err error) {
	before, err := readLoad()
	if err != nil {
		return nil, err
	}
	return func() (h outcome.Host, err error) {
		after, err := readLoad()
		if err == nil {
			h = after.since(before)
		}
		return h, err
	}, nil
}
