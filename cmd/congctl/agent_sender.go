package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/congctl/congctl/internal/fleet/store/batchlog"
	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/uplink"
	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// openUplink opens what brings this host's records to the controller. Sequences go on from the time since boot, so that
// those of one start are above those of the one before.
func (u *fleetAgent) openUplink() error {
	spool, err := batchlog.Open(batchlog.Options{
		Dir: filepath.Join(u.cfg.StateDir, "spool"), MaxBytes: u.cfg.Fleet.SpoolBytes,
		Report: func(d *batchlog.Damage) { u.log.Error("records are lost", "err", d) },
	})
	if err != nil {
		return err
	}
	u.later(spool.Close)
	_, boot := clock.Now()
	o := uplink.Options{
		FirstSequence: uint64(boot), Boot: u.boot, Addresses: u.cfg.Store.Addresses, Window: u.cfg.Window,
		BudgetBytes: u.cfg.Fleet.Budget, SpoolBytes: u.cfg.Fleet.SpoolBytes, SendTimeout: sendWait, FlushEvery: u.cfg.Poll,
	}
	sink, err := u.sink()
	if err != nil {
		return err
	}
	_, _ = rand.Read(o.Key[:]) // never fails (crypto/rand)
	u.uplink = uplink.New(o, uplink.Deps{
		Coder: &uplinkBatch{head: wire.Header{Boot: u.boot, Host: u.self.Name, PoP: u.self.PoP, CongctlVersion: version}},
		Spool: spool, Sink: sink, Refused: func(err error) bool { return errors.Is(err, link.ErrRefused) },
		Tell: func(line string) { u.log.Warn("uplink: " + line) },
	})
	return nil
}

// sink is where the records go.
func (u *fleetAgent) sink() (uplink.Sink, error) {
	if u.cfg.Fleet.Kafka == "" {
		return u.client, nil
	}
	return u.kafkaSink()
}

// deliver runs beside the agent, which it outlives by the records of the last windows.
func (u *fleetAgent) deliver(ctx context.Context) error {
	u.beside(context.WithoutCancel(ctx), u.uplink.Run)
	return nil
}

// records takes what the agent has finished, beside the records file.
func (u *fleetAgent) records() (func(*record.Conn), error) {
	others, err := u.recordsFile()
	if err != nil {
		return nil, err
	}
	return func(c *record.Conn) {
		u.uplink.Record(c)
		if others != nil {
			others(c)
		}
	}, nil
}

// onWindow tells the controller that the records of a window are complete.
func (u *fleetAgent) onWindow(_ context.Context, w agent.ClosedWindow) {
	u.uplink.EndWindow(uplink.WindowEnd{Start: w.Start, Unknown: w.Unknown, Starved: w.Starved, DefaultCongs: w.DefaultCongs})
	u.watchUplink()
}

// watchUplink keeps an alarm while records are lost, thinned, or wait for more than a window.
func (u *fleetAgent) watchUplink() {
	s, was := u.uplink.Status(), u.sent
	u.sent = s
	for kind, text := range map[string]string{
		"lost":    lossText(s.LostRecords+s.DroppedRecords, was.LostRecords+was.DroppedRecords, "records were lost on the way to the controller: the disk or fleet.spool_bytes"),
		"refused": lossText(s.RefusedBatches, was.RefusedBatches, "batches were refused by the controller: its log says why"),
		"thinned": lossText(s.ThinnedRecords, was.ThinnedRecords, fmt.Sprintf("records were left out, each that is sent stands for %d: fleet.budget, or a controller that does not keep up", s.Weight)),
		"waiting": waitText(s, u.cfg.Window.Seconds()),
	} {
		if text == "" {
			u.agent.ClearAlarm(kind)
		} else {
			u.agent.RaiseAlarm(kind, text)
		}
	}
}

func lossText(now, was uint64, what string) string {
	if now == was {
		return ""
	}
	return fmt.Sprintf("%d %s", now-was, what)
}

func waitText(s uplink.Status, window float64) string {
	if s.OldestS <= window {
		return ""
	}
	return fmt.Sprintf("%d batches wait for the controller, the oldest for %.0f s", s.WaitingBatches, s.OldestS)
}
