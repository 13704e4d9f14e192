//go:build !small

package main

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/loop/config"
)

const (
	effectFresh = time.Minute // an answer is given again
	effectsKept = 4           // answers: one has a row for each network at most
)

// recentEffect keeps the last answers about the effect: each reads a day of the store, or more. A time to begin at is
// that of the next window, so that two that select the same windows are one question.
type recentEffect struct {
	ask    func(context.Context, effectQuery) (*effects.View, error)
	window time.Duration

	mu   sync.Mutex // guards kept, and is held while one is asked
	kept map[effectQuery]keptEffect
}

type keptEffect struct {
	made time.Time
	view *effects.View
}

func (e *recentEffect) get(ctx context.Context, q effectQuery) (*effects.View, error) {
	q = e.rounded(q, time.Now())
	e.mu.Lock()
	defer e.mu.Unlock()
	if k, ok := e.kept[q]; ok && time.Since(k.made) < effectFresh {
		return k.view, nil
	}
	if err := ctx.Err(); err != nil { // it has left while it waited
		return nil, err
	}
	v, err := e.ask(ctx, q)
	if err == nil {
		e.keep(q, keptEffect{time.Now(), v})
	}
	return v, err
}

func (e *recentEffect) keep(q effectQuery, k keptEffect) {
	if e.kept == nil {
		e.kept = map[effectQuery]keptEffect{}
	}
	if len(e.kept) >= effectsKept {
		delete(e.kept, slices.MinFunc(slices.Collect(maps.Keys(e.kept)), func(a, b effectQuery) int { return e.kept[a].made.Compare(e.kept[b].made) }))
	}
	e.kept[q] = k
}

// rounded leaves a fault to be said by ask, and a time after the last whole window as it is.
func (e *recentEffect) rounded(q effectQuery, now time.Time) effectQuery {
	since, err := config.ParseSince(q.Since, now)
	if err != nil {
		return q
	}
	window := int64(e.window / time.Second)
	if next := time.Unix((since.Unix()+window-1)/window*window, 0); next.Before(now) {
		q.Since = next.UTC().Format(time.RFC3339)
	}
	return q
}
