package main

import (
	"sync"
	"time"

	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/record"
)

// book keeps what the server saw, and which plans were in force when, so that each
// response can be held against the arm that it had.
type book struct {
	mu        sync.Mutex
	responses map[record.Prefix][]response
	terms     map[record.Prefix][]term
	stops     []span // between stop and resume
}

// span is a stretch of Unix time in nanoseconds; to is 0 while it lasts.
type span struct{ from, to int64 }

// term is one stay of a prefix in the plan.
type term struct {
	span
	entry plan.Entry
	plan  *plan.Plan // any of those that held it: salt and blocks are the same in all
}

func newBook() *book {
	return &book{responses: map[record.Prefix][]response{}, terms: map[record.Prefix][]term{}}
}

func (b *book) add(r response) {
	p, ok := record.PrefixOf(r.Remote)
	if !ok || !r.Whole {
		return // cut off with the load: nothing was decided
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.responses[p] = append(b.responses[p], r)
}

// planned notes the plan in force.
func (b *book) planned(p *plan.Plan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range p.Entries {
		ts := b.terms[e.Prefix]
		if n := len(ts); n > 0 && ts[n-1].to == 0 && ts[n-1].entry.Since == e.Since {
			ts[n-1].plan = p
			continue
		}
		b.terms[e.Prefix] = append(ts, term{span{from: e.Since * int64(time.Second)}, e, p})
	}
	for prefix, ts := range b.terms {
		last := &ts[len(ts)-1]
		if _, in := p.Find(prefix); !in && last.to == 0 {
			last.to = p.Created * int64(time.Second)
		}
	}
}

// stopped and resumed note the kill switch.
func (b *book) stopped(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops = append(b.stops, span{from: at.UnixNano()})
}

func (b *book) resumed(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops[len(b.stops)-1].to = at.UnixNano()
}

// chosen counts the prefixes that are or were in the plan.
func (b *book) chosen() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.terms)
}

// count gives large and small responses so far.
func (b *book) count() (large, small, treated int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rs := range b.responses {
		for i := range rs {
			switch {
			case !rs[i].large():
				small++
			case rs[i].After == treatment:
				treated++
				fallthrough
			default:
				large++
			}
		}
	}
	return large, small, treated
}
