package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/spool"
	"github.com/congctl/congctl/internal/fleet/uplink"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"

	"github.com/congctl/congctl/internal/linux/clock"
)

// flushEvery bounds how long a quiet host's record waits for others.
const flushEvery = 5 * time.Second

// sender brings an agent's records to its controller.
type sender struct{ *spool.Spool }

func (u *fleetAgent) openSender() error {
	_, boot := clock.Now()
	s, err := spool.Open(spool.Options{
		Dir: filepath.Join(u.cfg.StateDir, "spool"), MaxBytes: u.cfg.Fleet.SpoolBytes, Addresses: u.cfg.Store.Addresses,
		Head: wire.Header{Boot: u.boot, Host: u.self.Name, PoP: u.self.PoP, Sequence: uint64(boot), CongctlVersion: version},
	})
	if err != nil {
		return err
	}
	u.sender = &sender{s}
	u.later(s.Close)
	return nil
}

// deliver runs beside the agent, which gets its alarms.
func (u *fleetAgent) deliver(ctx context.Context) error {
	u.beside(ctx, func(ctx context.Context) error {
		uplink.Run(ctx, u.sender, u.client, uplink.Options{FlushEvery: flushEvery, Refused: link.ErrRefused, Told: u.onDelivery, Lost: u.onLost})
		return nil
	})
	return nil
}

func (u *fleetAgent) onDelivery(err error) {
	if err != nil {
		u.agent.RaiseAlarm("deliver", err.Error())
		return
	}
	u.agent.ClearAlarm("deliver")
}

func (u *fleetAgent) onLost(err error) { u.log.Error("records are lost", "err", err) }

// records takes what the agent has finished, beside the records file.
func (u *fleetAgent) records() (func(*record.Conn), error) {
	others, err := u.recordsFile()
	if err != nil {
		return nil, err
	}
	return func(c *record.Conn) {
		u.sender.Add(c)
		if others != nil {
			others(c)
		}
	}, nil
}

// end tells that the records of a window are complete.
func (s *sender) end(w agent.ClosedWindow) {
	s.End(wire.WindowEnd{Start: w.Start, Unknown: w.Unknown, Starved: w.Starved, DefaultCongs: w.DefaultCongs})
}

// losses says in an alarm what the spool could not keep.
func (u *fleetAgent) watchSpool() {
	switch s := u.sender.Status(); {
	case s.Unwritten > u.lost.Unwritten:
		u.agent.RaiseAlarm("spool", fmt.Sprintf("the disk does not take records: %d batches are lost so far", s.Unwritten))
	case s.Dropped > u.lost.Dropped:
		u.agent.RaiseAlarm("spool", fmt.Sprintf("fleet.spool_bytes are full: %d of the oldest batches are lost so far", s.Dropped))
	default:
		u.agent.ClearAlarm("spool")
	}
	u.lost = u.sender.Status()
}
