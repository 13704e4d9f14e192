package main

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/congctl/congctl/internal/fleet/ingest"
	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse/clickhousetest"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
)

// counted is a shelf that ends a benchmark when it has stored enough rows, and says when the first came: a member
// that joins a group waits a second for its share of the topic.
type counted struct {
	shelf
	left  *atomic.Int64
	first func()
	end   func()
}

func (c *counted) Add(message []byte) error {
	c.first()
	return c.shelf.Add(message)
}

func (c *counted) Insert(ctx context.Context) error {
	n := c.Rows()
	err := c.shelf.Insert(ctx)
	if err == nil {
		if c.left.Add(-int64(n)) <= 0 {
			c.end()
		}
	}
	return err
}

// BenchmarkIngest is Kafka to ingest to ClickHouse, all on this machine, beside inserting the same
// rows with clickhouse-go when their columns are made already. The direct way has a server of its own, as new.
func BenchmarkIngest(b *testing.B) {
	p := newPipeline(b)
	p.cfg.BatchWait = 500 * time.Millisecond // else it waits 5 s for more at the end
	const records = 10 * 100_000
	batches := batchtest.Clients(b, rand.New(rand.NewPCG(1, 1)), "fra", time.Now().Unix()/300*300, 10, 100, 1000)
	for i := range batches {
		batches[i].Conns = nil // no ingest has a gigabyte of them for its collector
	}
	var whole, direct, server time.Duration
	own := 0.
	for b.Loop() {
		p.send("fra", batches)
		source, err := kafka.NewConsumer(p.topic, p.cfg.Group, nil)
		check(b, err)
		ctx, end := context.WithTimeout(b.Context(), wholeTime)
		var start time.Time
		var ownStart float64
		var serverStart time.Duration
		first := sync.OnceFunc(func() { start, ownStart, serverStart = time.Now(), ownCPU(b), p.server.CPU() })
		var left atomic.Int64
		left.Store(records)
		shelf := func() ingest.Store { return &counted{p.shelf(), &left, first, end} }
		ingest.New(p.cfg, source, shelf(), shelf(), slog.New(slog.NewTextHandler(io.Discard, nil))).Run(ctx)
		whole, own, server = whole+time.Since(start), own+ownCPU(b)-ownStart, server+p.server.CPU()-serverStart
		if left.Load() > 0 {
			b.Fatalf("%d records did not come", left.Load())
		}
		check(b, source.Mark()(b.Context()))
		source.Close()
		direct += p.direct(batches)
	}
	n := float64(b.N) * records
	b.ReportMetric(n/whole.Seconds(), "records/s")
	b.ReportMetric(n/direct.Seconds(), "direct_records/s")
	b.ReportMetric(direct.Seconds()/whole.Seconds(), "ratio")
	b.ReportMetric(own/n*1e6, "ingest_cpu_us/record")
	b.ReportMetric(server.Seconds()/n*1e6, "server_cpu_us/record")
	raw, packed := wireBytes(b, batches)
	b.ReportMetric(raw/records, "B/record")
	b.ReportMetric(packed/records, "zstd_B/record")
}

// direct is the time of clickhouse-go alone, on another server that has nothing to merge.
func (p *pipeline) direct(batches []batchtest.Batch) time.Duration {
	server := clickhousetest.Start(p.tb)
	defer server.Kill()
	_, err := clickhouse.Init(p.tb.Context(), server.Address())
	check(p.tb, err)
	store, err := clickhouse.Open(p.tb.Context(), server.Address())
	check(p.tb, err)
	defer store.Close()
	w := store.NewWriter(0)
	for _, b := range batches {
		check(p.tb, w.Add(b.Body))
	}
	check(p.tb, w.Insert(p.tb.Context()))
	return server.Direct("conn_records", "boot_id, sequence, in_batch", p.cfg.BatchRecords)
}

// wireBytes are the batches' bytes, and what they are in Kafka: compressed one by one, as agents send them.
func wireBytes(b *testing.B, batches []batchtest.Batch) (raw, packed float64) {
	e, err := zstd.NewWriter(nil)
	check(b, err)
	for _, batch := range batches {
		raw += float64(len(batch.Body))
		packed += float64(len(e.EncodeAll(batch.Body, nil)))
	}
	return raw, packed
}
