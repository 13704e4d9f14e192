package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// sweepIfDue walks the sockets for callbacks that another sock_ops program took
// from us, and gives them back where the kernel can.
func (a *Agent) sweepIfDue(spaces []Namespace, boot int64) {
	if a.rooms.Sweeper == nil || boot-a.lastSweepNs < int64(a.opt.SweepEvery) && a.lastSweepNs != 0 {
		return
	}
	a.lastSweepNs = boot
	sum, err := a.sweepAll(spaces, SweepRequest{Rearm: true})
	if err != nil {
		a.alarm("sweep", "sockets could not be walked: "+err.Error())
		return
	}
	a.calm("sweep")
	a.mu.Lock()
	a.status.Stripped += sum.Stripped
	a.status.Rearmed += sum.Rearmed
	a.mu.Unlock()
	if sum.Stripped == 0 {
		a.calm("theft")
		return
	}
	a.alarm("theft", fmt.Sprintf("callbacks of %d of %d followed connections were taken, %d given back: %s",
		sum.Stripped, sum.Marked, sum.Rearmed, a.suspects()))
}

func (a *Agent) sweepAll(spaces []Namespace, req SweepRequest) (sum SweepResult, err error) {
	var errs []error
	for _, ns := range spaces {
		r, err := a.rooms.Sweeper.Sweep(ns, req)
		if err != nil {
			errs = append(errs, fmt.Errorf("namespace %s: %w", ns.Name, err))
			continue
		}
		sum.Marked += r.Marked
		sum.Stripped += r.Stripped
		sum.Rearmed += r.Rearmed
		sum.RearmFailed += r.RearmFailed
		sum.Evicted += r.Evicted
		sum.EvictFailed += r.EvictFailed
	}
	return sum, errors.Join(errs...)
}

// ErrNoEvict says that this kernel cannot move live connections back.
var ErrNoEvict = errors.New("moving treated connections back needs a TCP iterator (Linux 5.15) and root")

// Evict moves the connections that this run switched back to their namespace's
// default congestion control, and says how many. Those of before its start are not
// known and stay.
func (a *Agent) Evict(ctx context.Context) (moved uint64, err error) {
	if a.rooms.Sweeper == nil {
		return 0, ErrNoEvict
	}
	done := make(chan eviction, 1)
	select {
	case a.evict <- done:
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(evictWait):
		return 0, errors.New("evict: the agent's loop did not answer")
	}
	e := <-done
	return e.moved, e.err
}

type eviction struct {
	moved uint64
	err   error
}

// evictWait is longer than the longest dump seen (745,000 sockets in 1.4 s).
const evictWait = 10 * time.Second

func (a *Agent) evictNow() eviction {
	spaces, err := a.rooms.Sockets.Namespaces()
	if err != nil {
		return eviction{err: err}
	}
	sum, err := a.sweepAll(spaces, SweepRequest{Evict: true})
	a.rooms.Log.Info("evicted", "connections", sum.Evicted, "failed", sum.EvictFailed)
	if err == nil && sum.EvictFailed > 0 {
		err = fmt.Errorf("evict: %d connections refused, %d moved", sum.EvictFailed, sum.Evicted)
	}
	a.mu.Lock()
	a.status.Evicted += sum.Evicted
	a.mu.Unlock()
	return eviction{sum.Evicted, err}
}
