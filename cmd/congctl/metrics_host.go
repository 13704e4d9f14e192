package main

import (
	"strings"
	"time"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
	"github.com/congctl/congctl/internal/loop/ledger"
	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/tcp/record"
)

// instant is the present by both clocks, in nanoseconds.
type instant struct{ unix, boot int64 }

// unixS translates boot time; 0 stays 0.
func (m instant) unixS(bootNs int64) float64 {
	if bootNs == 0 {
		return 0
	}
	return float64(m.unix-m.boot+bootNs) / float64(time.Second)
}

// hostMetrics is all that a host's status counts.
func hostMetrics(p *metrics.Page, a agent.Status, tier enforce.Tier, now instant) {
	p.Gauge("congctl_tier_info", "What this kernel can do (docs/tiers.md); always 1.").Is(1, "tier", tier.String())
	pollMetrics(p, a, now)
	planMetrics(p, a)
	lossMetrics(p, a)
	ledgerMetrics(p, a.Ledger)
	alarmMetrics(p, a.Alarms)
}

func pollMetrics(p *metrics.Page, a agent.Status, now instant) {
	p.Counter("congctl_polls_total", "Dumps of all sockets, one for each network namespace and poll.").Is(float64(a.Polls))
	p.Counter("congctl_poll_seconds_total", "Time that all dumps took, by the clock.").Is(a.DumpSeconds)
	p.Counter("congctl_polled_sockets_total", "Sockets in all dumps.").Is(float64(a.Sockets))
	p.Counter("congctl_interrupted_polls_total", "Dumps that a change interrupted twice: absence from them proves nothing.").Is(float64(a.InterruptedDumps))
	p.Counter("congctl_malformed_messages_total", "Messages of the kernel that could not be decoded.").Is(float64(a.MalformedMessages))
	p.Gauge("congctl_last_poll_timestamp_seconds", "When the last dump succeeded, Unix time; 0 before the first.").Is(now.unixS(a.PolledNs))
	p.Gauge("congctl_namespaces", "Network namespaces that are polled.").Is(float64(len(a.Namespaces)))
	p.Gauge("congctl_coverage_ratio", "Share of new passive connections that the eBPF program followed, in the last minute.").Is(a.Coverage)
	p.Gauge("congctl_coverage_connections", "New passive connections in the last minute, of which congctl_coverage_ratio is a share.").Is(float64(a.CoverageOf))
}

func planMetrics(p *metrics.Page, a agent.Status) {
	p.Gauge("congctl_plan_serial", "Serial of the plan in force on this host; 0 for none.").Is(float64(a.Plan))
	p.Gauge("congctl_plan_networks", "Networks in force, as read back from the kernel.").Is(float64(a.InForce))
	p.Gauge("congctl_stopped", "1 while the kill switch is on: nothing is treated.").On(a.Stopped)
	p.Gauge("congctl_starved", "1 while the host is short of CPU: no new treatment begins.").On(a.Starved != "")
	p.Gauge("congctl_window_unknown", "1 if the open window cannot be trusted, so its round decides nothing.").On(a.Unknown != "")
	p.Counter("congctl_evicted_connections_total", "Treated connections that congctl stop --evict moved back.").Is(float64(a.Evicted))
	p.Counter("congctl_refused_switches_total", "Changes of the congestion control that the kernel refused.").Is(float64(a.SwitchFailed))
	p.Counter("congctl_taken_callbacks_total", "Connections whose callbacks another program took.").Is(float64(a.Stripped))
	p.Counter("congctl_restored_callbacks_total", "Connections whose callbacks congctl restored.").Is(float64(a.Rearmed))
}

func lossMetrics(p *metrics.Page, a agent.Status) {
	p.Counter("congctl_lost_close_records_total", "Close records lost, by reason: the ring was full, the queue was full, or the record was malformed.").
		Is(float64(a.RingFull), "reason", "ring_full").Is(float64(a.DroppedCloses), "reason", "queue_full").Is(float64(a.MalformedCloses), "reason", "malformed")
	p.Counter("congctl_unfollowed_connections_total", "Accepted connections that the eBPF program did not follow, by reason: in a namespace that is not polled, or no memory or callbacks.").
		Is(float64(a.Unpolled), "reason", "not_polled").Is(float64(a.NotFollowed), "reason", "no_memory")
	l := a.LeftOut
	p.Counter("congctl_left_out_records_total", "Records of connections that no row of a window has, by reason.").
		Is(float64(l.Late), "reason", "late").Is(float64(l.Unplaced), "reason", "unplaced").Is(float64(l.SetBack), "reason", "set_back").
		Is(float64(l.Unknown), "reason", "unknown_arm").Is(float64(l.Crowded), "reason", "crowded").Is(float64(l.EvictedConns), "reason", "evicted").Is(float64(l.IneligibleConns), "reason", "ineligible")
	p.Counter("congctl_left_out_networks_total", "Networks left out of a window, by reason: to stay within max_prefixes, or without an eligible connection.").
		Is(float64(l.EvictedPrefixes), "reason", "evicted").Is(float64(l.IneligiblePrefixes), "reason", "ineligible")
}

func ledgerMetrics(p *metrics.Page, l ledger.Stats) {
	p.Gauge("congctl_connections", "Connections that are followed.").Is(float64(l.Live - l.Gone))
	p.Gauge("congctl_vanished_connections", "Connections that are gone and wait for a late close record.").Is(float64(l.Gone))
	f := p.Counter("congctl_records_total", "Records of connections, by their end: at a window's end, at close, or vanished without a close record.")
	for end, n := range l.Emitted {
		f.Is(float64(n), "end", record.End(end).String())
	}
	p.Counter("congctl_close_records_total", "Close records, by whether a poll had seen the connection.").
		Is(float64(l.ClosesJoined), "polled", "true").Is(float64(l.ClosesAlone), "polled", "false")
	f = p.Counter("congctl_ledger_events_total", "What the ledger met and handled, by event (internal/loop/ledger).")
	for _, e := range []struct {
		name string
		n    uint64
	}{
		{"vanished_marked", l.VanishedMarked}, {"returned", l.Returned}, {"duplicate_sight", l.DuplicateSights}, {"duplicate_close", l.DuplicateCloses},
		{"tombstone", l.Tombstones}, {"tombstone_early", l.TombstonesEarly}, {"ignored", l.Ignored}, {"late", l.Late}, {"spanned", l.Spanned},
		{"set_back", l.SetBack}, {"counter_reset", l.CounterResets}, {"clamped", l.Clamped}, {"mark_fault", l.MarkFaults},
		{"overflow", l.Overflow}, {"forgotten_early", l.ForgottenEarly}, {"netns_overflow", l.NetnsOverflow},
	} {
		f.Is(float64(e.n), "event", e.name)
	}
}

// alarmMetrics names the alarms that stand. Their kinds are few, and their texts are in congctl status.
func alarmMetrics(p *metrics.Page, alarms []string) {
	p.Gauge("congctl_alarms", "Alarms that stand.").Is(float64(len(alarms)))
	f, told := p.Gauge("congctl_alarm", "1 for each alarm that stands, by kind; congctl status has the text."), map[string]bool{}
	for _, a := range alarms {
		if kind, _, _ := strings.Cut(a, ":"); !told[kind] {
			told[kind] = true
			f.Is(1, "kind", kind)
		}
	}
}
