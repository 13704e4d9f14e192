package main

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/metrics/listener"
)

// budget is what each holder of connections to the page's port (webHolder) may spend of processor time in a minute, so
// that none burns a core of a process that treats.
type budget struct {
	each  time.Duration // of one holder
	all   time.Duration // of all; beyond it each still has least
	least time.Duration

	mu     sync.Mutex // guards all below
	minute int64      // Unix time
	spent  map[string]time.Duration
	sum    time.Duration
}

const (
	mostHolders = 4096                   // counted one by one in a minute; others together
	requestCost = 100 * time.Microsecond // net/http takes 30 to 70 us for a small one
	requestWait = 100 * time.Millisecond // beyond the budget: 32 connections have 320 requests a second
)

// requestBudget is for whatever is asked: 500 requests a second of one holder, a twentieth of a core. A probe and a
// scrape of the same user wait, too, for less than they have.
func requestBudget() *budget {
	return &budget{each: 3 * time.Second, all: 9 * time.Second, least: 500 * time.Millisecond}
}

// take adds a cost, and returns how long the minute lasts and whether the holder is beyond its budget.
func (b *budget) take(holder string, cost time.Duration, now time.Time) (left time.Duration, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := now.Unix() / 60; m != b.minute || b.spent == nil {
		b.minute, b.spent, b.sum = m, map[string]time.Duration{}, 0
	}
	if _, known := b.spent[holder]; !known && len(b.spent) >= mostHolders {
		holder = ""
	}
	b.spent[holder] += cost
	b.sum += cost
	has := b.each
	if b.sum > b.all {
		has = b.least
	}
	return time.Unix((b.minute+1)*60, 0).Sub(now), b.spent[holder] > has
}

// pace counts a request, which waits if its holder has spent its budget.
func (b *budget) pace(ctx context.Context) {
	if _, over := b.take(askerOf(ctx), requestCost, time.Now()); over {
		select {
		case <-time.After(requestWait):
		case <-ctx.Done():
		}
	}
}

// askerOf names the holder of a request's connection.
func askerOf(ctx context.Context) string { return control.HolderOf(listener.Conn(ctx)).Name }

// charge runs fn and adds the processor time that it took, however it ends.
func (b *budget) charge(holder string, fn func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	defer func() { b.take(holder, threadTime()-began, time.Now()) }()
	fn()
}

func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // there since Linux 2.6.12
	return time.Duration(t.Nano())
}
