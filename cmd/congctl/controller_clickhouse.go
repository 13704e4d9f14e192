//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/congctl/congctl/internal/fleet/pop"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// records is fleet.clickhouse, for all PoPs of a process: its connections are kept for the next one's round.
type records struct {
	mu    sync.Mutex        // guards all below
	store *clickhouse.Store // nil until the first PoP needs it
}

func (r *records) open(ctx context.Context, address string) (*clickhouse.Store, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store != nil {
		return r.store, nil
	}
	s, err := openDatabase(ctx, "fleet.clickhouse", address)
	if err != nil {
		return nil, err
	}
	if err := s.Check(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	r.store = s
	return s, nil
}

func (r *records) shut() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store == nil {
		return nil
	}
	return r.store.Close()
}

// warehouse is a PoP's open windows in ClickHouse, which congctl ingest fills. Its rows stay there;
// what is closed is only no longer asked for.
type warehouse struct {
	store  *clickhouse.Store
	pop    string
	closed int64 // the latest window that was closed
	oldest int64 // as it was found last
}

// Oldest asks for the oldest window that a host has sent, until one is found: there is none before it.
func (w *warehouse) Oldest() (int64, error) {
	if w.oldest > w.closed {
		return w.oldest, nil
	}
	all, err := w.ends(w.closed + 1)
	if len(all) > 0 {
		w.oldest = all[0].start
		return w.oldest, err
	}
	return 0, err
}

// Ends implements pop.Inbox.
func (w *warehouse) Ends(start int64) (ends []pop.End, err error) {
	all, err := w.ends(start)
	for _, e := range all {
		if e.start == start {
			ends = append(ends, e.End)
		}
	}
	slices.SortFunc(ends, func(a, b pop.End) int { return strings.Compare(a.Host, b.Host) })
	return ends, err
}

type startedEnd struct {
	start int64
	pop.End
}

// ends reads them from a window on, by start.
func (w *warehouse) ends(from int64) (all []startedEnd, err error) {
	err = w.store.Ends(context.Background(), w.pop, from, func(h *wire.Header, e *wire.WindowEnd) error {
		all = append(all, startedEnd{e.Start, pop.End{Host: h.Host, Unknown: e.Unknown, Starved: e.Starved, Congs: e.DefaultCongs}})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read from fleet.clickhouse: %w", err)
	}
	return all, nil
}

// Conns implements pop.Inbox.
func (w *warehouse) Conns(start int64, row func(host string, c *record.Conn)) error {
	err := w.store.Counted(context.Background(), w.pop, start, func(host string, c *record.Conn) error { row(host, c); return nil })
	if err != nil {
		return fmt.Errorf("read from fleet.clickhouse: %w", err)
	}
	return nil
}

// Close implements pop.Inbox.
func (w *warehouse) Close(start int64) error {
	w.closed = max(w.closed, start)
	return nil
}
