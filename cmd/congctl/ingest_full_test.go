package main

import (
	"context"
	"encoding/binary"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/congctl/congctl/internal/fleet/ingest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// drain is a store of ClickHouse's rows without a server behind it.
type drain struct {
	*clickhouse.Writer
	inserted func(rows int)
}

func (d *drain) Insert(context.Context) error {
	d.inserted(d.Rows())
	d.Writer = new(clickhouse.Store).NewWriter(0)
	return nil
}

func (d *drain) Retain(context.Context, int64) (int, error) { return 0, nil }

// tiny is the body of a batch of n records with a window alone: six bytes each.
func tiny(t *testing.T, n int) []byte {
	t.Helper()
	one, two := bodyWith(t, 1), bodyWith(t, 2)
	record := two[len(one):] // what one more record adds
	if len(record) > 10 {
		t.Fatalf("a record of %d bytes", len(record))
	}
	return append(slices.Clone(one), []byte(strings.Repeat(string(record), n-1))...)
}

func bodyWith(t *testing.T, n int) []byte {
	t.Helper()
	b := wire.Batch{}
	for range n {
		b.Add(&record.Conn{Window: 300})
	}
	frame, err := b.AppendFrame(nil, &wire.Header{PoP: "chi", Host: "edge", Boot: record.BootID{1}, Sequence: 1})
	check(t, err)
	_, head := binary.Uvarint(frame)
	return frame[head:]
}

// full is the body of an agent's batch of n records.
func full(t *testing.T, n int) []byte {
	t.Helper()
	frame := batchOf(t, wire.Header{PoP: "chi", Host: "edge", Boot: record.BootID{1}, Sequence: 1}, 300, n)
	_, head := binary.Uvarint(frame)
	return frame[head:]
}

// TestIngestStaysSmall: what an ingest holds is bounded by rows and by bytes, whatever messages come and however many at once.
func TestIngestStaysSmall(t *testing.T) {
	loopbackUp(t)
	for _, c := range []struct {
		name    string
		message []byte
		batch   int // records that an insert should have
		rows    int // of each
		most    int // rows of an insert
	}{
		{"131,067 records each", tiny(t, 131_067), 20_000, 0, 0},
		{"an agent's", full(t, 1000), 20_000, 1000, 20_000},
		{"an agent's that do not fill an insert exactly", full(t, 999), 20_000, 999, 20_979},
		{"a small insert", full(t, 1000), 500, 1000, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
			check(t, err)
			defer cluster.Close()
			topic := kafka.Address{Brokers: cluster.ListenAddrs(), Topic: "records"}
			_, err = kafka.Init(t.Context(), topic, kafka.Topics{Partitions: 1, Replicas: 1, Retention: time.Hour})
			check(t, err)
			sender, err := kafka.NewProducer(topic, "chi", nil)
			check(t, err)
			defer sender.Close()
			const messages = 50
			for range messages {
				check(t, sender.Send(t.Context(), append(binary.AppendUvarint(nil, uint64(len(c.message))), c.message...)))
			}
			source, err := kafka.NewConsumer(topic, "ingest", nil)
			check(t, err)
			defer source.Close()
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			inserts, rows, most, heap := 0, 0, 0, uint64(0)
			inserted := func(n int) {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				inserts, rows, most, heap = inserts+1, rows+n, max(most, n), max(heap, m.HeapAlloc)
				if rows >= messages*c.rows && (c.rows > 0 || inserts == 3) {
					end()
				}
			}
			store := func() ingest.Store { return &drain{new(clickhouse.Store).NewWriter(0), inserted} }
			cfg := ingest.Default()
			cfg.BatchRecords, cfg.BatchWait = c.batch, 2*time.Second
			ingest.New(cfg, source, store(), store(), slog.New(slog.DiscardHandler)).Run(ctx)
			t.Logf("%d bytes, %d rows in %d inserts, at most %d; heap %d MB", len(c.message), rows, inserts, most, heap>>20)
			if rows != messages*c.rows || most > c.most {
				t.Errorf("%d rows, want %d; an insert of %d, want at most %d", rows, messages*c.rows, most, c.most)
			}
			if heap > 400<<20 {
				t.Errorf("heap of %d MB", heap>>20)
			}
		})
	}
}
