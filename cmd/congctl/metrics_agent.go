package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/congctl/congctl/internal/fleet/uplink"
	"github.com/congctl/congctl/internal/metrics"
)

// contact is how an agent and its controller get on; several goroutines use it.
type contact struct {
	connected      atomic.Bool
	ordered, acked atomic.Int64 // Unix seconds of the last order, and of the last answer that the controller took
}

func (c *contact) order() {
	c.connected.Store(true)
	c.ordered.Store(time.Now().Unix())
}

func (u *fleetAgent) collect(_ context.Context, p *metrics.Page) {
	processMetrics(p)
	hostMetrics(p, u.agent.Status(), u.probe.Tier, present())
	uplinkMetrics(p, u.uplink.Status(), u.cfg.Fleet.SpoolBytes)
	u.contact.metrics(p)
}

func (c *contact) metrics(p *metrics.Page) {
	p.Gauge("congctl_controller_connected", "1 while the controller's orders can reach this agent.").On(c.connected.Load())
	p.Gauge("congctl_last_order_timestamp_seconds", "When the controller sent its last order, Unix time; 0 for never.").Is(float64(c.ordered.Load()))
	p.Gauge("congctl_last_ack_timestamp_seconds", "When the controller took the last answer to an order, Unix time; 0 for never.").Is(float64(c.acked.Load()))
}

func uplinkMetrics(p *metrics.Page, s uplink.Status, limit int64) {
	p.Counter("congctl_uplink_records_total", "Records put into batches for the controller.").Is(float64(s.Records))
	p.Counter("congctl_uplink_batches_total", "Batches, by what became of them: sent and taken, sent again, refused by the far side.").
		Is(float64(s.SentBatches), "outcome", "sent").Is(float64(s.ResentBatches), "outcome", "resent").Is(float64(s.RefusedBatches), "outcome", "refused")
	p.Counter("congctl_uplink_sent_bytes_total", "Bytes of the batches that were taken, before compression.").Is(float64(s.SentBytes))
	p.Counter("congctl_uplink_lost_records_total", "Records lost, by reason: the disk was too slow, or the spool was full or damaged.").
		Is(float64(s.LostRecords), "reason", "disk_slow").Is(float64(s.DroppedRecords), "reason", "spool")
	p.Counter("congctl_uplink_thinned_records_total", "Records left out to stay within the budget; those that are sent stand for them.").Is(float64(s.ThinnedRecords))
	p.Gauge("congctl_uplink_kept_ratio", "Share of the latest window's records that is sent; 1 is all of them.").Is(1 / float64(max(1, s.Weight)))
	p.Gauge("congctl_spool_bytes", "Bytes of batches that wait for the controller.").Is(float64(s.WaitingBytes))
	p.Gauge("congctl_spool_limit_bytes", "fleet.spool_bytes.").Is(float64(limit))
	p.Gauge("congctl_spool_batches", "Batches that wait for the controller.").Is(float64(s.WaitingBatches))
	p.Gauge("congctl_spool_age_seconds", "How long the oldest of them has waited.").Is(s.OldestS)
}

// ready reports an error until the agent has polled and has a plan. A controller that is away changes
// nothing about that: its last plan holds.
func (u *fleetAgent) ready(context.Context) error {
	switch s := u.agent.Status(); {
	case s.Polls == 0:
		return errors.New("wait for the first poll of the sockets")
	case s.Plan == 0:
		return errors.New("wait for the controller's first plan")
	default:
		return standing(s, "plan-file", "stop-file", "lost", "cgroup")
	}
}
