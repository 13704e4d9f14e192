//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
)

func newStore(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Make, migrate or check where a fleet keeps its records",
		Long: `store makes the tables in ClickHouse and the topics in Kafka that congctl ingest needs,
brings older tables to this version, and checks both.`,
	}
	cmd.AddCommand(newStoreInit(g), newStoreMigrate(g), newStoreCheck(g))
	return cmd
}

const (
	clickhouseScheme = "clickhouse://"
	kafkaScheme      = "kafka" // and +tls
)

// StoreChange is the answer of store init, migrate and check.
type StoreChange struct {
	Address string   `json:"address"` // without a password
	Done    []string `json:"done"`    // what was made or changed
}

func newStoreInit(g *global) *cobra.Command {
	var partitions, replicas uint64
	var retention time.Duration
	var file string
	cmd := &cobra.Command{
		Use:   "init [ADDRESS]",
		Short: "Make the database and its tables, or the topics, where they are missing",
		Long: `init makes what is missing and changes nothing that is there. For ClickHouse that is the
database and its tables; for Kafka the topic and, for what is refused, one with .dead at its end,
and for what controllers that share PoPs decide one with .commits.`,
		Example: `  congctl store init clickhouse://127.0.0.1:9000/congctl
  congctl store init kafka://127.0.0.1:9092/congctl.records --partitions 12`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if retention < time.Hour {
				return wrongUse(cmd, fmt.Errorf("--retention %s: at least 1h", retention))
			}
			if partitions-1 >= maxPartitions || replicas-1 >= maxReplicas {
				return wrongUse(cmd, fmt.Errorf("--partitions %d, --replicas %d: at least 1, at most %d and %d", partitions, replicas, maxPartitions, maxReplicas))
			}
			t := kafka.Topics{Partitions: int(partitions), Replicas: int(replicas), Retention: retention}
			return g.atStore(cmd, args, file, clickhouse.Init, func(ctx context.Context, a kafka.Address) ([]string, error) {
				return kafka.Init(ctx, a, t)
			})
		},
	}
	addressFlag(cmd, &file)
	cmd.Flags().Uint64Var(&partitions, "partitions", 12, "Kafka: partitions of the topic, the most that can share the work; for good")
	cmd.Flags().Uint64Var(&replicas, "replicas", 1, "Kafka: brokers that keep each message; 3 where there are three")
	cmd.Flags().DurationVar(&retention, "retention", 48*time.Hour, "Kafka: how long messages are kept, so how long an ingest may be away; commits at least seven days")
	return cmd
}

// maxPartitions and maxReplicas: beyond them it is a slip of the finger.
const maxPartitions, maxReplicas = 10_000, 100

func newStoreMigrate(g *global) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "migrate [ADDRESS]",
		Short: "Bring the tables to this version",
		Long: `migrate changes the tables as this version needs them, while ingests run. It deletes
nothing. Kafka's topics need no migration.`,
		Example: "  congctl store migrate clickhouse://127.0.0.1:9000/congctl",
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.atStore(cmd, args, file, func(ctx context.Context, address string) ([]string, error) {
				return withTables(ctx, address, (*clickhouse.Store).Migrate)
			}, nil)
		},
	}
	addressFlag(cmd, &file)
	return cmd
}

func newStoreCheck(g *global) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "check [ADDRESS]",
		Short:   "Check that the tables are this version's, or that the topics are there",
		Long:    `check changes nothing; its exit code is 4 where init or migrate has something to do.`,
		Example: "  congctl store check clickhouse://127.0.0.1:9000/congctl",
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.atStore(cmd, args, file, func(ctx context.Context, address string) ([]string, error) {
				return withTables(ctx, address, func(s *clickhouse.Store, ctx context.Context) ([]string, error) { return nil, s.Check(ctx) })
			}, func(ctx context.Context, a kafka.Address) ([]string, error) { return nil, kafka.Check(ctx, a) })
		},
	}
	addressFlag(cmd, &file)
	return cmd
}

func withTables(ctx context.Context, address string, do func(*clickhouse.Store, context.Context) ([]string, error)) (did []string, err error) {
	s, err := clickhouse.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(s, ctx)
}

// atStore does what is due at an address, and prints it. inKafka is nil where nothing is.
func (g *global) atStore(cmd *cobra.Command, args []string, file string, inClickHouse func(context.Context, string) ([]string, error), inKafka func(context.Context, kafka.Address) ([]string, error)) error {
	var did []string
	address, err := addressOf(cmd, args, file)
	if err != nil {
		return err
	}
	shown := ""
	switch {
	case strings.HasPrefix(address, kafkaScheme) && inKafka != nil:
		a, wrong := kafka.ParseAddress(address)
		if wrong != nil {
			return usage(wrong)
		}
		shown = a.String()
		did, err = inKafka(cmd.Context(), a)
	case strings.HasPrefix(address, clickhouseScheme):
		if shown, err = clickhouse.Shown(address); err != nil {
			return usage(err)
		}
		did, err = inClickHouse(cmd.Context(), address)
	default:
		return wrongUse(cmd, fmt.Errorf("%s: no address that it takes; write clickhouse://host:9000/database", nameOf(cmd)))
	}
	if err != nil {
		return storeError(shown, err)
	}
	text := shown + ": " + strings.Join(did, ", ") + "\n"
	if len(did) == 0 {
		text = shown + ": in order, nothing to do\n"
	}
	return g.printText(cmd, StoreChange{shown, append([]string{}, did...)}, text)
}
