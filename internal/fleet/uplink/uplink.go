// Package uplink delivers an agent's batches to its controller: in order, each until it is taken.
//
// It makes no batch and knows no transport.
//
// Its trap: a batch that the far side refuses must go, or it blocks all others; one that the far
// side could not take just now must stay, or it is lost. The sink's error tells which.
package uplink

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Queue holds batches.
type Queue interface {
	// Next returns the oldest batch, nil for none; the same one until Delivered.
	Next() ([]byte, error)
	Delivered()
	// More is ready when there may be another.
	More() <-chan struct{}
	// Flush makes a batch of what has been gathered.
	Flush()
}

// Sink takes batches.
type Sink interface {
	Send(ctx context.Context, batch []byte) error
}

// Options of Run.
type Options struct {
	FlushEvery time.Duration // a quiet host's records wait no longer
	Refused    error         // Sink's error for a batch that must not be sent again
	// Told takes each change: an error when deliveries begin to fail, nil when they work again.
	Told func(error)
	// Lost takes each batch's refusal, and each fault of the queue.
	Lost func(error)
}

// Back-off: base, doubled by each failure up to the cap, times a random number from 0 to 1, so
// that agents do not return together (full jitter: M. Brooker, Exponential Backoff And Jitter,
// 2015). The cap is below the 30 s for which a controller that was down waits for its hosts.
const (
	backoffBase = time.Second
	backoffCap  = 10 * time.Second
)

// Backoff returns how long to wait after so many failures in a row, 1 or more; draw is in [0, 1).
func Backoff(failures int, draw float64) time.Duration {
	return time.Duration(draw * float64(min(backoffCap, backoffBase<<min(failures-1, 10))))
}

// Run delivers until ctx ends.
func Run(ctx context.Context, q Queue, to Sink, o Options) {
	flush := time.NewTicker(o.FlushEvery)
	defer flush.Stop()
	failures := 0
	for ctx.Err() == nil {
		batch, err := q.Next()
		if err != nil {
			o.Lost(err)
			continue
		}
		if batch == nil {
			await(ctx, q, flush.C, nil)
			continue
		}
		err = to.Send(ctx, batch)
		if err != nil && !errors.Is(err, o.Refused) {
			if failures++; failures == 1 && ctx.Err() == nil {
				o.Told(err)
			}
			await(ctx, q, flush.C, time.After(Backoff(failures, rand.Float64())))
			continue
		}
		if err != nil {
			o.Lost(err)
		}
		if failures > 0 {
			o.Told(nil)
		}
		failures = 0
		q.Delivered()
	}
}

// await returns when there may be a batch, or with wait, when that is over.
func await(ctx context.Context, q Queue, flush <-chan time.Time, wait <-chan time.Time) {
	more := q.More()
	if wait != nil {
		more = nil
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait:
			return
		case <-more:
			return
		case <-flush:
			q.Flush()
		}
	}
}
