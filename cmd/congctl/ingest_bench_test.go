package main

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/congctl/congctl/internal/fleet/ingest"
	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
)

// counted is a shelf that ends a benchmark when it has stored enough rows.
type counted struct {
	shelf
	left *atomic.Int64
	end  func()
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
// rows with clickhouse-go when their columns are made already.
func BenchmarkIngest(b *testing.B) {
	p := newPipeline(b)
	p.cfg.BatchWait = 500 * time.Millisecond // else it waits 5 s for more at the end
	const records = 4 * 100_000
	batches := batchtest.Clients(b, rand.New(rand.NewPCG(1, 1)), "fra", time.Now().Unix()/300*300, 10, 40, 1000)
	var whole, direct time.Duration
	cpus := 0.
	for b.Loop() {
		p.send("fra", batches)
		source, err := kafka.NewConsumer(p.topic, p.cfg.Group)
		check(b, err)
		ctx, end := context.WithTimeout(b.Context(), wholeTime)
		start, cpu := time.Now(), ownCPU(b)+p.server.CPU().Seconds()
		var left atomic.Int64
		left.Store(records)
		ingest.New(p.cfg, source, &counted{p.shelf(), &left, end}, &counted{p.shelf(), &left, end}, slog.New(slog.NewTextHandler(io.Discard, nil))).Run(ctx)
		whole, cpus = whole+time.Since(start), cpus+ownCPU(b)+p.server.CPU().Seconds()-cpu
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
	b.ReportMetric(cpus/n*1e6, "cpu_us/record") // without Kafka's
	raw, packed := wireBytes(b, batches)
	b.ReportMetric(raw/records, "B/record")
	b.ReportMetric(packed/records, "zstd_B/record")
}

// direct is the time of the inserts alone.
func (p *pipeline) direct(batches []batchtest.Batch) (total time.Duration) {
	w := p.store.NewWriter(p.cfg.Retention)
	for _, batch := range batches {
		check(p.tb, w.Add(batch.Body))
		if w.Rows() == p.cfg.BatchRecords {
			start := time.Now()
			check(p.tb, w.Insert(p.tb.Context()))
			total += time.Since(start)
		}
	}
	return total
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
