package outcome

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// noMetrics keeps TCP from remembering a destination.
const noMetrics = "net.ipv4.tcp_no_metrics_save"

// cachedMetrics: no connection starts with what an earlier one learnt of the path
// (RTT, reordering, window: tcp_metrics is kept by destination).
func cachedMetrics(v *view) Gate {
	h := &v.r.Host
	return Gate{OK: h.MetricsCached == 0 && h.Sysctls[noMetrics] == "1",
		Got:  fmt.Sprintf("%d entries, tcp_no_metrics_save=%s", h.MetricsCached, cmp.Or(h.Sysctls[noMetrics], "unknown")),
		Want: "0 entries, tcp_no_metrics_save=1",
		Why:  "metrics of an earlier connection on this path remain: set tcp_no_metrics_save=1 and flush tcp_metrics, or make a new namespace for each run"}
}

// sysctls: those of the cell are in force, as read back. White space is the kernel's own.
func sysctls(v *view) Gate {
	var wrong []string
	for _, key := range slices.Sorted(maps.Keys(v.c.Sysctls)) {
		asked, seen := fields(v.c.Sysctls[key]), fields(v.r.Host.Sysctls[key])
		if asked != seen {
			wrong = append(wrong, fmt.Sprintf("%s=%s, not %s", key, cmp.Or(seen, "unknown"), asked))
		}
	}
	return Gate{OK: len(wrong) == 0, Got: listed(wrong, fmt.Sprintf("%d as requested", len(v.c.Sysctls))), Want: "each as the cell sets it",
		Why: "the kernel lacks it, refused the value, or it is not per namespace: set it in the sender's namespace before the first connection"}
}

func fields(value string) string { return strings.Join(strings.Fields(value), " ") }

// busyShare is how much of its CPU a world may use. Above four fifths packets wait
// for the CPU, and the CPU becomes the bottleneck.
const busyShare = 0.80

// cpu: the machine was no bottleneck, in virtual time neither: there a packet takes
// its instructions too.
func cpu(v *view) Gate {
	return Gate{OK: v.r.Host.BusyShare <= busyShare, Got: percent(v.r.Host.BusyShare) + " busy", Want: "at most " + percent(busyShare),
		Why: "the machine is the bottleneck: lower the rate, sample less often, or allow super-packets where no packet is lost"}
}

// linkDrops: devices and backlogs between the qdiscs lose nothing. No qdisc's counter
// shows such a loss, and TCP takes it for the path's.
func linkDrops(v *view) Gate {
	var found []string
	for _, l := range v.r.Links {
		if n := l.TxDropped + l.RxDropped; n > 0 {
			found = append(found, fmt.Sprintf("%s %s: %d", l.Node, l.Name, n))
		}
	}
	if n := v.r.Host.SoftnetDropped; n > 0 {
		found = append(found, fmt.Sprintf("softnet: %d", n))
	}
	return Gate{OK: len(found) == 0, Got: listed(found, "0 packets"), Want: "0 packets dropped by links and softnet",
		Why: "a burst is longer than the CPU's backlog, or a device accepts no more: raise net.core.netdev_max_backlog, switch GRO off on the links"}
}
