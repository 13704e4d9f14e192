package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Source is where messages come from.
type Source interface {
	// Poll waits at most wait for messages and hands each to take; one that take refuses is set
	// aside with the reason, for good. An error is of the source alone.
	Poll(ctx context.Context, wait time.Duration, take func(message []byte) error) error
	// Commit marks all messages so far as done. After an error some may be delivered again.
	Commit(ctx context.Context) error
}

// Store is where they go. A message that it takes twice counts once.
type Store interface {
	// Add keeps a message for the next Insert, or refuses it and keeps nothing of it.
	Add(message []byte) error
	// Rows is how many rows wait for Insert.
	Rows() int
	// Insert stores and forgets what waits; after an error all of it still waits.
	Insert(ctx context.Context) error
	// Retain drops what is older than Unix second from, as far as it is a whole day.
	Retain(ctx context.Context, from int64) (days int, err error)
}

// Ingest moves messages. Not safe for concurrent use; several may run beside each other.
type Ingest struct {
	cfg    Config
	source Source
	store  Store
	log    *slog.Logger

	refused  int   // messages since the last insert
	reason   error // of the first of them
	retained time.Time
	pause    time.Duration // before another try; 0 after a success
	first    time.Duration // the first pause
}

const (
	// firstPause and lastPause bound the wait for a source or store that is away: soon enough after
	// a restart, and no burden to one that is overloaded.
	firstPause, lastPause = 500 * time.Millisecond, 30 * time.Second
	// retainEvery: retention is in days.
	retainEvery = time.Hour
)

// New returns an ingest.
func New(cfg Config, source Source, store Store, log *slog.Logger) *Ingest {
	return &Ingest{cfg: cfg, source: source, store: store, log: log, first: firstPause}
}

// Run moves messages until ctx ends. What is not committed then comes again to the next ingest.
// While the store is away it takes no more messages, so that the queue keeps them and not memory.
func (i *Ingest) Run(ctx context.Context) {
	for ctx.Err() == nil {
		i.fill(ctx)
		i.retry(ctx, i.store.Insert)
		if ctx.Err() != nil {
			return // not all of it may be in the store
		}
		i.tellRefused()
		if err := i.source.Commit(ctx); err != nil && ctx.Err() == nil {
			i.log.Warn("messages of this insert may come again, and count once", "err", err)
		}
		i.retain(ctx)
	}
}

// fill collects rows for one insert: BatchRecords, or what comes in BatchWait.
func (i *Ingest) fill(ctx context.Context) {
	end := time.Now().Add(i.cfg.BatchWait)
	for ctx.Err() == nil && i.store.Rows() < i.cfg.BatchRecords {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		i.once(ctx, func(ctx context.Context) error { return i.source.Poll(ctx, left, i.take) })
	}
}

func (i *Ingest) take(message []byte) error {
	err := i.store.Add(message)
	if err != nil {
		if i.refused++; i.refused == 1 {
			i.reason = err
		}
	}
	return err
}

func (i *Ingest) tellRefused() {
	if i.refused > 0 {
		i.log.Warn(fmt.Sprintf("%d messages refused; they are in the dead-letter topic", i.refused), "first", i.reason)
	}
	i.refused = 0
}

// retry repeats do until it succeeds or ctx ends.
func (i *Ingest) retry(ctx context.Context, do func(context.Context) error) {
	for ctx.Err() == nil && !i.once(ctx, do) {
	}
}

// once reports whether do succeeded; after an error it pauses, twice as long as before, by chance
// up to half less, so that several do not come back at once.
func (i *Ingest) once(ctx context.Context, do func(context.Context) error) bool {
	err := do(ctx)
	if err == nil {
		i.pause = 0
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	i.pause = min(max(2*i.pause, i.first), lastPause)
	wait := i.pause/2 + rand.N(i.pause/2+1)
	i.log.Error("try again in "+wait.Round(time.Millisecond).String(), "err", err)
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
	return false
}

// retain drops what is too old. A failure waits for the next hour.
func (i *Ingest) retain(ctx context.Context) {
	now := time.Now()
	if now.Sub(i.retained) < retainEvery {
		return
	}
	i.retained = now
	days, err := i.store.Retain(ctx, now.Add(-i.cfg.Retention).Unix())
	if err != nil && ctx.Err() == nil {
		i.log.Error("drop old days", "err", err)
	} else if days > 0 {
		i.log.Info(fmt.Sprintf("dropped %d old days", days))
	}
}
