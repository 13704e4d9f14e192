package uplink

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Run writes batches to the spool and sends them until ctx ends. Then it puts what is left into the spool, for the
// next start: call it off after the last Record. The error is the spool's, which did not sync.
func (u *Uplink) Run(ctx context.Context) error {
	var sender sync.WaitGroup
	sender.Go(func() { u.deliver(ctx) })
	u.write(ctx)
	sender.Wait()
	if err := u.deps.Spool.Sync(); err != nil {
		return fmt.Errorf("end uplink: %w", err)
	}
	return nil
}

// write brings batches to the spool.
func (u *Uplink) write(ctx context.Context) {
	tick := time.NewTicker(u.opt.FlushEvery)
	defer tick.Stop()
	for {
		select {
		case frame := <-u.queue:
			u.spool(frame)
		case <-tick.C:
			u.flush()
		case <-ctx.Done():
			u.drain()
			u.flush()
			u.drain()
			return
		}
	}
}

func (u *Uplink) drain() {
	for {
		select {
		case frame := <-u.queue:
			u.spool(frame)
		default:
			return
		}
	}
}

func (u *Uplink) spool(frame []byte) {
	u.say(stateSpool, u.deps.Spool.Append(frame))
	select {
	case u.spare <- frame:
	default:
	}
	_, waiting, _ := u.deps.Spool.Waiting()
	u.backlog.Store(waiting)
	select {
	case u.spooled <- struct{}{}:
	default:
	}
}

// deliver sends the oldest batch of the spool until it is taken or refused, then the next one.
func (u *Uplink) deliver(ctx context.Context) {
	budget := newBucket(u.opt.BudgetBytes, u.opt.Window, time.Now())
	attempt := 0
	for ctx.Err() == nil {
		frame, err := u.deps.Spool.Next()
		u.say(stateRead, err)
		switch {
		case err != nil:
			attempt++
		case frame == nil:
			attempt = 0
			u.idle(ctx)
			continue
		default:
			if !sleep(ctx, budget.take(len(frame), time.Now())) {
				return
			}
			attempt = u.try(ctx, frame, attempt)
		}
		if attempt > 0 && !sleep(ctx, Backoff(attempt, rand.Float64())) {
			return
		}
	}
}

// idle waits until something comes into the spool.
func (u *Uplink) idle(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-u.spooled:
	}
}

// try sends a frame and returns how often that has failed by now, 0 if the next one is due.
func (u *Uplink) try(ctx context.Context, frame []byte, attempt int) int {
	if attempt > 0 {
		u.count(func(s *Status) { s.ResentBatches++ })
	}
	within, cancel := context.WithTimeout(ctx, u.opt.SendTimeout)
	defer cancel()
	err := u.deps.Sink.Send(within, frame)
	refused := err != nil && u.deps.Refused(err)
	switch {
	case err == nil:
		u.say(stateAway, nil)
		u.say(stateRefused, nil)
		u.count(func(s *Status) { s.SentBatches++; s.SentBytes += uint64(len(frame)) })
	case refused:
		u.say(stateAway, nil)
		u.say(stateRefused, err)
		u.count(func(s *Status) { s.RefusedBatches++ })
	case ctx.Err() != nil:
		return 0
	default:
		u.say(stateAway, err)
		return attempt + 1
	}
	u.say(stateCursor, u.deps.Spool.Delivered())
	_, waiting, _ := u.deps.Spool.Waiting()
	u.backlog.Store(waiting)
	return 0
}

// sleep reports whether ctx goes on after d.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
