//go:build !small

package main

import (
	"context"
	"sync"
)

// places are taken for a time, at most half of them by one holder: while two of them hold all, a third waits, and one
// alone keeps nobody out.
type places struct {
	most int

	mu      sync.Mutex // guards all below
	taken   int
	of      map[string]int
	changed chan struct{} // closed when one is given back
}

func newPlaces(most int) *places {
	return &places{most: most, of: map[string]int{}, changed: make(chan struct{})}
}

// take waits for a place until ctx ends; give is nil then.
func (p *places) take(ctx context.Context, holder string) (give func()) {
	for {
		p.mu.Lock()
		if p.taken < p.most && p.of[holder] < p.most/2 {
			p.taken++
			p.of[holder]++
			p.mu.Unlock()
			return func() { p.give(holder) }
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *places) give(holder string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.of[holder]--; p.of[holder] == 0 {
		delete(p.of, holder)
	}
	close(p.changed)
	p.changed = make(chan struct{})
}
