//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/fleet/ingest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/listener"
)

// ingestMeter counts what an ingest moves, between it and its source and store.
type ingestMeter struct {
	mu                     sync.Mutex // guards all below
	messages, records      uint64
	refused                map[string]uint64
	inserts, failed, unfed uint64
	waiting                int
	took                   *metrics.Histogram
	queue                  queue     // nil before both sides were reached
	inserted, moved        time.Time // last success; last sign of life
	sourceErr, storeErr    error     // of the last try
}

func newIngestMeter() *ingestMeter {
	// From a small insert to the limit of a query.
	return &ingestMeter{refused: map[string]uint64{"outside_retention": 0, "malformed": 0}, moved: time.Now(),
		took: metrics.NewHistogram(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)}
}

func (m *ingestMeter) do(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn()
	m.moved = time.Now()
}

// meteredSource counts what comes.
type meteredSource struct {
	ingest.Source
	*ingestMeter
}

func (s meteredSource) Poll(ctx context.Context, wait time.Duration, full func() bool, take func([]byte) error) error {
	err := s.Source.Poll(ctx, wait, full, take)
	s.do(func() {
		if s.sourceErr = err; err != nil {
			s.unfed++
		}
	})
	return err
}

// meteredStore counts what is stored. Two of one meter are in use at once.
type meteredStore struct {
	ingest.Store
	*ingestMeter
}

func (s meteredStore) Add(message []byte) error {
	before := s.Rows()
	err := s.Store.Add(message)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	switch {
	case errors.Is(err, clickhouse.ErrOutside):
		s.refused["outside_retention"]++
	case err != nil:
		s.refused["malformed"]++
	}
	s.waiting += s.Rows() - before
	return err
}

func (s meteredStore) Insert(ctx context.Context) error {
	rows, began := s.Rows(), time.Now()
	err := s.Store.Insert(ctx)
	s.do(func() {
		s.waiting, s.storeErr = s.waiting+s.Rows()-rows, err
		if err != nil {
			s.failed++
		} else if s.inserted = time.Now(); rows > 0 {
			s.inserts, s.records = s.inserts+1, s.records+uint64(rows)
			s.took.Add(time.Since(began).Seconds())
		}
	})
	return err
}

// queue is what a source says of itself.
type queue interface {
	Behind() int64  // messages that wait behind those read
	Unread() uint64 // messages that were too large to read
	Lost() uint64   // refused messages of which the dead-letter topic takes nothing
}

func (m *ingestMeter) source() listener.Source {
	return listener.Source{Alive: m.alive, Ready: m.ready, Collect: func(_ context.Context, p *metrics.Page) {
		processMetrics(p)
		m.collect(p)
	}}
}

func (m *ingestMeter) reads(q queue) { m.do(func() { m.queue = q }) }

// side keeps what try says of one side.
func (m *ingestMeter) side(err *error, try func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		now := try(ctx)
		m.do(func() { *err = now })
		return now
	}
}

func (m *ingestMeter) collect(p *metrics.Page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var unread, lost, behind float64
	if m.queue != nil {
		unread, lost, behind = float64(m.queue.Unread()), float64(m.queue.Lost()), float64(m.queue.Behind())
	}
	p.Counter("congctl_ingest_batches_total", "Batches read from Kafka.").Is(float64(m.messages))
	p.Counter("congctl_ingest_rows_total", "Records and ends of windows that are in ClickHouse.").Is(float64(m.records))
	f := p.Counter("congctl_ingest_dead_letters_total", "Batches that went to the dead-letter topic, by reason.").
		Is(unread, "reason", "too_large")
	for _, reason := range []string{"malformed", "outside_retention"} {
		f.Is(float64(m.refused[reason]), "reason", reason)
	}
	p.Counter("congctl_ingest_dead_letters_lost_total", "Refused batches of which the dead-letter topic takes nothing.").Is(lost)
	p.Counter("congctl_ingest_errors_total", "Reads and inserts that failed and are tried again, by the side that failed.").
		Is(float64(m.unfed), "side", "kafka").Is(float64(m.failed), "side", "clickhouse")
	p.Gauge("congctl_ingest_lag_messages", "Messages of this ingest's partitions that it has not read yet, as of its last read.").Is(behind)
	p.Gauge("congctl_ingest_waiting_rows", "Rows that wait in memory for the next insert.").Is(float64(m.waiting))
	inserted := 0.0
	if !m.inserted.IsZero() {
		inserted = float64(m.inserted.Unix())
	}
	p.Gauge("congctl_ingest_last_insert_timestamp_seconds", "When all that had come was last in ClickHouse, Unix time; 0 for never.").Is(inserted)
	p.Histogram("congctl_ingest_insert_seconds", "How long inserts took that succeeded.", m.took)
}

// ingestStalls is longer than an insert may take, and than the longest pause after a fault.
const ingestStalls = 3 * time.Minute

func (m *ingestMeter) alive(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := time.Since(m.moved); since > ingestStalls {
		return fmt.Errorf("move records: nothing was read or inserted for %s, not even without success", since.Round(time.Second))
	}
	return nil
}

func (m *ingestMeter) ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inserted.IsZero() && m.sourceErr == nil && m.storeErr == nil {
		return errors.New("wait for the first batches")
	}
	return errors.Join(m.sourceErr, m.storeErr)
}

// serveIngest serves metrics, and tells systemd, until ctx ends; wait returns then.
func serveIngest(ctx context.Context, cfg ingest.Config, from listener.Source, log *slog.Logger) (wait func() error, err error) {
	web, err := openListener(ctx, config.Metrics{Listen: cfg.Metrics}.Address(""), cfg.PProf, log)
	if err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	all.Go(func() { tellSystemd(ctx, from, log) })
	if web != nil {
		all.Go(func() { err = web.Serve(ctx, from) })
	}
	return func() error { all.Wait(); return err }, nil
}
