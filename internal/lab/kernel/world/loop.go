package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// loop waits for descriptors and times and makes the registered calls, all on one
// goroutine. Times are microseconds since the last reset. Calls for the same time run in
// the order of registration.
type loop struct {
	epoll  int
	wake   int // eventfd: the context is done
	began  time.Time
	timers []timer
	ready  map[int]func(events uint32)
	events [64]unix.EpollEvent
}

type timer struct {
	atUs uint64
	call func()
}

func newLoop() (*loop, error) {
	l := &loop{ready: map[int]func(uint32){}, began: time.Now()}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("open epoll: %w", err)
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		unix.Close(l.epoll)
		return nil, fmt.Errorf("open eventfd: %w", err)
	}
	return l, l.add(l.wake, unix.EPOLLIN, func(uint32) {})
}

func (l *loop) close() {
	unix.Close(l.wake)
	unix.Close(l.epoll)
}

func (l *loop) now() uint64 { return uint64(time.Since(l.began).Microseconds()) }

// reset starts the clock again and forgets all times.
func (l *loop) reset() { l.began, l.timers = time.Now(), nil }

// at calls fn at a time; one that has passed is now.
func (l *loop) at(us uint64, fn func()) {
	i, _ := slices.BinarySearchFunc(l.timers, us, func(t timer, us uint64) int {
		if t.atUs <= us { // behind those of the same time
			return -1
		}
		return 1
	})
	l.timers = slices.Insert(l.timers, i, timer{us, fn})
}

// every calls fn at multiples of a step until it returns false.
func (l *loop) every(us uint64, fn func() bool) {
	var tick func()
	next := l.now() + us
	tick = func() {
		if !fn() {
			return
		}
		next = max(next+us, l.now())
		l.at(next, tick)
	}
	l.at(next, tick)
}

// add calls fn when a descriptor has one of the events.
func (l *loop) add(fd int, events uint32, fn func(uint32)) error {
	l.ready[fd] = fn
	err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	if err != nil {
		return fmt.Errorf("watch descriptor: %w", err)
	}
	return nil
}

// drop closes a descriptor; events of it that wait are forgotten.
func (l *loop) drop(fd int) {
	delete(l.ready, fd)
	unix.Close(fd)
}

// run continues until done returns true, the context ends, or nothing can ever happen.
func (l *loop) run(ctx context.Context, done func() bool) error {
	stop := context.AfterFunc(ctx, func() { _, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) })
	defer stop()
	for !done() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := unix.EpollWait(l.epoll, l.events[:], l.waitMs())
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for events: %w", err)
		}
		for i := range max(n, 0) {
			if fn := l.ready[int(l.events[i].Fd)]; fn != nil {
				fn(l.events[i].Events)
			}
		}
		l.fire()
	}
	return nil
}

// waitMs is the time to the next timer, rounded up; -1: none.
func (l *loop) waitMs() int {
	if len(l.timers) == 0 {
		return -1
	}
	now := l.now()
	if at := l.timers[0].atUs; at > now {
		return int((at - now + 999) / 1000)
	}
	return 0
}

func (l *loop) fire() {
	for now := l.now(); len(l.timers) > 0 && l.timers[0].atUs <= now; {
		call := l.timers[0].call
		l.timers = slices.Delete(l.timers, 0, 1)
		call()
	}
}
