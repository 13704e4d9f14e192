package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/metrics"
)

// moodyShelf is a store and a source that fail when told.
type moodyShelf struct {
	err  error
	rows int
}

func (s *moodyShelf) Add([]byte) error {
	if s.err == nil {
		s.rows += 10
	}
	return s.err
}
func (s *moodyShelf) Rows() int { return s.rows }
func (s *moodyShelf) Insert(context.Context) error {
	if s.err == nil {
		s.rows = 0
	}
	return s.err
}
func (s *moodyShelf) Retain(context.Context, int64) (int, error) { return 0, nil }
func (s *moodyShelf) Mark() func(context.Context) error {
	return func(context.Context) error { return nil }
}
func (s *moodyShelf) Poll(_ context.Context, _ time.Duration, _ func() bool, take func([]byte) error) error {
	_ = take([]byte("x"))
	return s.err
}

// TestIngestMeter counts what passes, by outcome, and judges readiness by the last try.
func TestIngestMeter(t *testing.T) {
	m, s := newIngestMeter(), &moodyShelf{}
	from, to := meteredSource{s, m}, meteredStore{s, m}
	if m.ready(t.Context()) == nil || m.alive(t.Context()) != nil {
		t.Error("ready before anything came, or not alive")
	}
	ctx := t.Context()
	for _, err := range []error{nil, fmt.Errorf("decode batch: %w", clickhouse.ErrOutside), errors.New("torn"), nil} {
		s.err = err
		if got := from.Poll(ctx, 0, func() bool { return false }, to.Add); !errors.Is(got, err) {
			t.Errorf("poll: %v", got)
		}
		if got := to.Insert(ctx); !errors.Is(got, err) {
			t.Errorf("insert: %v", got)
		}
		if ready := m.ready(ctx) == nil; ready != (err == nil) {
			t.Errorf("after %v ready is %v", err, ready)
		}
	}
	var p metrics.Page
	m.reads(fakeQueue{})
	m.collect(&p)
	got := map[string]float64{}
	for _, f := range parsePage(t, p.Text()) {
		for _, s := range f.Samples {
			got[s.Name+"{"+s.Labels+"}"] = s.Value
		}
	}
	for name, want := range map[string]float64{
		`congctl_ingest_batches_total{}`: 4, `congctl_ingest_rows_total{}`: 20, `congctl_ingest_insert_seconds_count{}`: 2,
		`congctl_ingest_dead_letters_total{reason="outside_retention"}`: 1, `congctl_ingest_dead_letters_total{reason="malformed"}`: 1,
		`congctl_ingest_dead_letters_total{reason="too_large"}`: 2, `congctl_ingest_errors_total{side="kafka"}`: 2,
		`congctl_ingest_errors_total{side="clickhouse"}`: 2, `congctl_ingest_waiting_rows{}`: 0, `congctl_ingest_lag_messages{}`: 7,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	m.moved = m.moved.Add(-ingestStalls - time.Second)
	if m.alive(ctx) == nil {
		t.Error("alive although nothing moves")
	}
}
