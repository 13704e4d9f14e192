package link

import (
	"context"
	"maps"
	"sync"
	"time"
)

// A stream has no end of its own, so what its caller was let in for is asked again while it goes on: it ends with the
// certificate's or the token's time, with its authority, and when it is revoked or removed.

// againEvery is how long a stream outlives the trust in its caller, at most. Asking for 1,000 agents takes 20 ms of CPU.
const againEvery = 2 * time.Second

// underWay are the requests of known callers.
type underWay struct {
	mu    sync.Mutex // guards these
	all   map[*request]struct{}
	looks bool // a look is due
}

type request struct {
	again func(time.Time) error
	end   context.CancelCauseFunc
}

// enter returns the context of a request, which ends with an error of again.
func (u *underWay) enter(ctx context.Context, again func(time.Time) error) (_ context.Context, leave func()) {
	ctx, end := context.WithCancelCause(ctx)
	r := &request{again, end}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[*request]struct{}{}
	}
	u.all[r] = struct{}{}
	u.next()
	return ctx, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.all, r)
		end(nil)
	}
}

// next has the next look come if there is something to look at. u.mu is held.
func (u *underWay) next() {
	if !u.looks && len(u.all) > 0 {
		u.looks = true
		time.AfterFunc(againEvery, u.look)
	}
}

func (u *underWay) look() {
	u.mu.Lock()
	all := maps.Clone(u.all)
	u.mu.Unlock()
	now := time.Now()
	for r := range all {
		if err := r.again(now); err != nil {
			r.end(ended{err})
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.looks = false
	u.next()
}

// ended is why a request was ended under way.
type ended struct{ error }

func (e ended) Unwrap() error { return e.error }
