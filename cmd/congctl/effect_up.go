package main

import (
	"context"
	"fmt"

	names "github.com/congctl/congctl/internal/app/networks"
	"github.com/congctl/congctl/internal/app/weblog"
	"github.com/congctl/congctl/internal/core/accesslog"
	"github.com/congctl/congctl/internal/core/network"
	"github.com/congctl/congctl/internal/core/record"
)

// openMeter follows the access logs that the configuration names; none: goodput is
// not measured, and nothing is opened.
func (u *up) openMeter(context.Context) error {
	if f := metricsFinding(); f != nil {
		u.log.Warn("arms may leak into each other", "finding", f.Text, "fix", f.Fix)
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
	}, goodputDir(u.cfg), tenants, u.onAlarm, u.log)
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- u.meter.Run(stop) }()
	u.later(func() error {
		close(stop)
		return <-done
	})
	return nil
}

// metered gives records to the meter, too; others may be nil.
func (u *up) metered(others func(*record.Conn)) func(*record.Conn) {
	if u.meter == nil {
		return others
	}
	return func(c *record.Conn) {
		u.meter.Record(c)
		if others != nil {
			others(c)
		}
	}
}
