//go:build !small

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/fleet/ingest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/loop/config"
)

func newIngest(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "ingest",
		Short: "Move a fleet's records from Kafka into ClickHouse",
		Long: `ingest reads batches of connection records from Kafka, as a member of a consumer group,
and inserts them into ClickHouse; each counts once, however often it comes. Start as
many as you like. It runs until it is ended; what it has not committed then, the next
one inserts. Its configuration is a file of its own (see etc/ingest.yml); store init
makes topics and tables.`,
		Example: "  congctl ingest -c ingest.yml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := ingest.Default()
			if g.configPath != "" {
				var err error
				if cfg, err = ingest.Read(g.configPath); err != nil {
					return usage(err)
				}
			}
			return runIngest(cmd, cfg)
		},
	}
}

// shelf is ClickHouse as an ingest uses it.
type shelf struct {
	*clickhouse.Writer
	*clickhouse.Store
}

func runIngest(cmd *cobra.Command, cfg ingest.Config) (err error) {
	ctx := cmd.Context()
	from, err := kafka.ParseAddress(cfg.Kafka)
	if err != nil {
		return usage(err)
	}
	to, err := clickhouse.Shown(cfg.ClickHouse)
	if err != nil {
		return usage(err)
	}
	store, err := clickhouse.Open(ctx, cfg.ClickHouse)
	if err != nil {
		return storeError(cfg.ClickHouse, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Check(ctx); err != nil {
		return storeError(cfg.ClickHouse, err)
	}
	if err := kafka.Check(ctx, from); err != nil {
		return storeError(from.String(), err)
	}
	log := newLog(config.Default().Log, cmd.ErrOrStderr())
	verify, err := verifies(cfg.AgentsCA, log)
	if err != nil {
		return usage(err)
	}
	source, err := kafka.NewConsumer(from, cfg.Group, verify)
	if err != nil {
		return err
	}
	defer source.Close()
	log.Info(fmt.Sprintf("ingest: %s to %s, group %s", from, to, cfg.Group))
	meter := newIngestMeter()
	served, err := serveIngest(ctx, cfg, meter.source(source), log)
	if err != nil {
		return err
	}
	newShelf := func() ingest.Store {
		return meteredStore{shelf{store.NewWriter(cfg.Retention), store}, meter}
	}
	ingest.New(cfg, meteredSource{source, meter}, newShelf(), newShelf(), log).Run(ctx)
	err = served()
	log.Info("down")
	return err
}
