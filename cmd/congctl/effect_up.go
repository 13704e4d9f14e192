package main

import (
	"context"
	"fmt"

	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/goodput/names"
	"github.com/congctl/congctl/internal/goodput/network"
	"github.com/congctl/congctl/internal/goodput/weblog"
	"github.com/congctl/congctl/internal/tcp/record"
)

// openMeter follows the access logs that the configuration names. Without any it opens
// nothing, and goodput is not measured.
func (u *up) openMeter(context.Context) error {
	if f := metricsFinding(); f != nil {
		u.log.Warn(f.Text + "; fix: " + f.Fix)
	}
	if len(u.cfg.Goodput.AccessLogs) == 0 {
		return nil
	}
	format, err := accesslog.ParseFormat(u.cfg.Goodput.Format)
	if err != nil {
		return err
	}
	var tenants network.Tenants
	if name := u.cfg.Names.Tenants; name != "" {
		if tenants, err = names.ReadTenants(name); err != nil {
			return usage(fmt.Errorf("names.tenants: %w", err))
		}
	}
	u.meter = weblog.New(weblog.Options{
		Logs: u.cfg.Goodput.AccessLogs, Format: format, Window: u.cfg.Window, Block: u.cfg.Experiment.Block, Washout: u.cfg.Experiment.Washout,
		MinBytes: u.cfg.Treatment.MinBytes, ShowLines: u.cfg.Store.Addresses == record.AddressesFull,
	}, goodputDir(u.cfg), tenants, u.onMeter, u.log)
	return nil
}

// runMeter comes after the agent, which holds the meter's alarms.
func (u *up) runMeter(ctx context.Context) error {
	if u.meter != nil {
		u.beside(context.WithoutCancel(ctx), func(ctx context.Context) error { return u.meter.Run(ctx.Done()) })
	}
	return nil
}

func (u *up) onMeter(kind, text string) {
	if text == "" {
		u.agent.ClearAlarm(kind)
	} else {
		u.agent.RaiseAlarm(kind, text)
	}
}

// records go to the meter and to the records file, as far as there is one.
func (u *up) records() (func(*record.Conn), error) {
	others, err := u.recordsFile()
	if u.meter == nil || err != nil {
		return others, err
	}
	return func(c *record.Conn) {
		u.meter.Record(c)
		if others != nil {
			others(c)
		}
	}, nil
}
