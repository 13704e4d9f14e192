//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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
	from, err := topicOf("kafka", cfg.Kafka)
	if err != nil {
		return usage(err)
	}
	to, err := databaseOf("clickhouse", cfg.ClickHouse)
	if err != nil {
		return usage(err)
	}
	log := newLog(config.Default().Log, cmd.ErrOrStderr())
	verify, err := verifies(cfg.AgentsCA, cfg.Revoked, log)
	if err != nil {
		return usage(err)
	}
	log.Info(fmt.Sprintf("ingest: %s to %s, group %s", from, to.shown, cfg.Group))
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	meter := newIngestMeter()
	served, err := serveIngest(ctx, cfg, meter.source(), log)
	if err != nil {
		return err
	}
	err = move(ctx, cfg, from, to, verify, meter, log)
	stop()
	err = errors.Join(err, served())
	log.Info("down")
	return err
}

// move moves what comes until ctx ends. It begins when both sides are there.
func move(ctx context.Context, cfg ingest.Config, from kafka.Address, to database, verify kafka.Verify, meter *ingestMeter, log *slog.Logger) (err error) {
	var store *clickhouse.Store
	defer func() {
		if store != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	if err := reach(ctx, log, meter.side(&meter.storeErr, func(ctx context.Context) (err error) {
		if store == nil {
			store, err = clickhouse.Open(ctx, to.at)
		}
		if err == nil {
			err = store.Check(ctx)
		}
		return storeError(to.shown, err)
	})); err != nil || ctx.Err() != nil {
		return err
	}
	if err := reach(ctx, log, meter.side(&meter.sourceErr, func(ctx context.Context) error {
		return storeError(from.String(), kafka.Check(ctx, from))
	})); err != nil || ctx.Err() != nil {
		return err
	}
	source, err := kafka.NewConsumer(from, cfg.Group, verify)
	if err != nil {
		return err
	}
	defer source.Close()
	meter.reads(source)
	newShelf := func() ingest.Store {
		return meteredStore{shelf{store.NewWriter(cfg.Retention), store}, meter}
	}
	ingest.New(cfg, meteredSource{source, meter}, newShelf(), newShelf(), log).Run(ctx)
	return nil
}
