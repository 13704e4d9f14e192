package main

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/ingest"
	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
)

// counted is a shelf that ends a benchmark when it has stored enough rows.
type counted struct {
	shelf
	left int
	end  func()
}

func (c *counted) Insert(ctx context.Context) error {
	n := c.Rows()
	err := c.shelf.Insert(ctx)
	if err == nil {
		if c.left -= n; c.left <= 0 {
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
	for b.Loop() {
		p.send("fra", batches)
		source, err := kafka.NewConsumer(p.topic, p.cfg.Group)
		check(b, err)
		ctx, end := context.WithTimeout(b.Context(), wholeTime)
		start := time.Now()
		to := &counted{shelf{p.store.NewWriter(p.cfg.Retention), p.store}, records, end}
		ingest.New(p.cfg, source, to, slog.New(slog.NewTextHandler(io.Discard, nil))).Run(ctx)
		whole += time.Since(start)
		if to.left > 0 {
			b.Fatalf("%d records did not come", to.left)
		}
		check(b, source.Commit(b.Context()))
		source.Close()
		direct += p.direct(batches)
	}
	n := float64(b.N) * records
	b.ReportMetric(n/whole.Seconds(), "records/s")
	b.ReportMetric(n/direct.Seconds(), "direct_records/s")
	b.ReportMetric(direct.Seconds()/whole.Seconds(), "ratio")
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
