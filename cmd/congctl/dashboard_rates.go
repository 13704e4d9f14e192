//go:build !small

package main

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Rates is the delivery rate of all connections over time.
type Rates struct {
	Points  []RatePoint `json:"points"`  // oldest first; none for a window without connections
	Missing int         `json:"missing"` // windows that were not read yet: ask again
	Damaged int         `json:"damaged"` // windows that cannot be read, and are left out
}

// RatePoint is one window's.
type RatePoint struct {
	Start int64   `json:"window_start_unix_s"`
	Conns uint64  `json:"connections"`
	P10   float64 `json:"p10_bytes_per_s"`
	P50   float64 `json:"p50_bytes_per_s"`
}

type ratesRequest struct {
	Windows int `json:"windows"` // the newest so many
}

// ratesQuery is for the dashboard only.
var ratesQuery = control.Query[ratesRequest, Rates]{Name: "rates"}

const (
	mostRates   = 2016                   // windows: a week of 5 minutes
	ratesWithin = 500 * time.Millisecond // for one answer: a window of 100,000 networks takes a third of it
)

// course keeps what it has read of a store: a window that has closed does not change.
type course struct {
	store journal.Recorded

	mu    sync.Mutex // guards this, and is held while the store is read
	known map[int64]RatePoint
}

func (c *course) get(ctx context.Context, q ratesRequest) (Rates, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	heads, err := c.store.Heads(ctx, 0, math.MaxInt64)
	if err != nil {
		return Rates{}, err
	}
	heads = heads[max(0, len(heads)-max(1, min(q.Windows, mostRates))):]
	began, out, kept := time.Now(), Rates{Points: []RatePoint{}}, map[int64]RatePoint{}
	for i := len(heads) - 1; i >= 0; i-- { // the newest first
		start := heads[i].Start
		p, ok := c.known[start]
		if !ok && time.Since(began) > ratesWithin {
			out.Missing++
			continue
		}
		if !ok {
			if p, err = c.read(ctx, start); ctx.Err() != nil {
				return Rates{}, err
			} else if err != nil {
				out.Damaged++
				continue
			}
		}
		kept[start] = p
	}
	for start, p := range c.known { // another page may ask for more
		if len(kept) < mostRates {
			kept[start] = p
		}
	}
	c.known = kept
	for _, h := range heads {
		if p := kept[h.Start]; p.Conns > 0 {
			out.Points = append(out.Points, p)
		}
	}
	return out, nil
}

func (c *course) read(ctx context.Context, start int64) (RatePoint, error) {
	var m window.Mix
	err := c.store.Windows(ctx, start, start+1, func(w *record.Window) error {
		m.Add(w)
		return nil
	})
	return RatePoint{start, m.Conns, m.Quantile(0.1), m.Quantile(0.5)}, err
}
