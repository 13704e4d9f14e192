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
	// Poll waits at most wait for messages and hands them to take until full; one that take refuses is
	// set aside with the reason, for good. The rest is handed out at the next Poll. An error is of the
	// source alone.
	Poll(ctx context.Context, wait time.Duration, full func() bool, take func(message []byte) error) error
	// Mark returns what marks all messages handed out so far as done, and none that come later; the one
	// who polls calls it. After an error some may be delivered again.
	Mark() (commit func(context.Context) error)
}

// Store is where they go. A message that it takes twice counts once. Two of one place are filled in
// turn, the one while the other inserts.
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
	cfg           Config
	source        Source
	filled, other Store
	log           *slog.Logger

	bytes    int   // of the messages in filled
	refused  int   // messages since the last insert
	reason   error // of the first of them
	retained time.Time
	first    time.Duration // the first pause
}

const (
	// firstPause and lastPause bound the wait for a source or store that is away: no burden to one that is overloaded, and
	// shorter than the 15 s for which a controller waits for what was sent while ClickHouse was away (fleet/pop).
	firstPause, lastPause = 500 * time.Millisecond, 10 * time.Second
	// retainEvery: retention is in days.
	retainEvery = time.Hour
)

// New returns an ingest. Both stores lead to one place.
func New(cfg Config, source Source, a, b Store, log *slog.Logger) *Ingest {
	return &Ingest{cfg: cfg, source: source, filled: a, other: b, log: log, first: firstPause}
}

// Run moves messages until ctx ends. What is not committed then comes again to the next ingest.
// It collects the next rows while the last ones are inserted, and no more than those: while the
// store is away the queue keeps the messages and not memory.
func (i *Ingest) Run(ctx context.Context) {
	inserted, commit := make(chan bool, 1), i.source.Mark()
	inserted <- true
	for ctx.Err() == nil {
		i.fill(ctx)
		if !<-inserted || ctx.Err() != nil {
			return // not all of it may be in the store
		}
		if err := commit(ctx); err != nil && ctx.Err() == nil {
			i.log.Warn("messages of this insert may come again, and count once", "err", err)
		}
		i.tellRefused()
		i.retain(ctx)
		commit = i.source.Mark()
		i.filled, i.other = i.other, i.filled
		go func(full Store) { inserted <- i.retry(ctx, full.Insert) }(i.other)
	}
	<-inserted // none outlives its store
}

// fill collects rows for one insert: BatchRecords, or what comes in BatchWait.
func (i *Ingest) fill(ctx context.Context) {
	i.bytes = 0
	end, pause := time.Now().Add(i.cfg.BatchWait), time.Duration(0)
	for ctx.Err() == nil && !i.full() {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		i.once(ctx, &pause, func(ctx context.Context) error { return i.source.Poll(ctx, left, i.full, i.take) })
	}
}

// full ends a poll, too: how many rows a message has, and how long their texts are, is its sender's choice.
func (i *Ingest) full() bool {
	return i.filled.Rows() >= i.cfg.BatchRecords || i.bytes >= i.cfg.BatchRecords*rowBytes
}

// rowBytes is what a row takes in memory. An agent's rows have a sixth of it in a message.
const rowBytes = 1 << 10

func (i *Ingest) take(message []byte) error {
	err := i.filled.Add(message)
	if err == nil {
		i.bytes += len(message)
	} else {
		if i.refused++; i.refused == 1 {
			i.reason = err
		}
	}
	return err
}

func (i *Ingest) tellRefused() {
	if i.refused > 0 {
		i.log.Warn(fmt.Sprintf("%d messages refused; they are in the dead-letter topic", i.refused), "first", fmt.Sprintf("%.300s", i.reason))
	}
	i.refused = 0
}

// retry repeats do until it succeeds, or returns false when ctx ends.
func (i *Ingest) retry(ctx context.Context, do func(context.Context) error) bool {
	for pause := time.Duration(0); ctx.Err() == nil; {
		if i.once(ctx, &pause, do) {
			return true
		}
	}
	return false
}

// once reports whether do succeeded; after an error it pauses, twice as long as before (0 after a
// success), by chance up to half less, so that several do not come back at once.
func (i *Ingest) once(ctx context.Context, pause *time.Duration, do func(context.Context) error) bool {
	err := do(ctx)
	if err == nil {
		*pause = 0
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	*pause = min(max(2*(*pause), i.first), lastPause)
	wait := *pause/2 + rand.N(*pause/2+1)
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
	days, err := i.filled.Retain(ctx, now.Add(-i.cfg.Retention).Unix())
	if err != nil && ctx.Err() == nil {
		i.log.Error("drop old days", "err", err)
	} else if days > 0 {
		i.log.Info(fmt.Sprintf("dropped %d old days", days))
	}
}
