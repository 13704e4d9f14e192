package world

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Timers fire by time, those of the same time in the order of asking, and one that asks
// again for "now" lets the loop look at its end first.
func TestTimers(t *testing.T) {
	l, err := newLoop()
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	var got []int
	for i, us := range []uint64{2000, 1000, 2000, 0, 1000} {
		l.at(us, func() { got = append(got, i) })
	}
	ticks := 0
	l.every(500, func() bool { ticks++; return ticks < 3 })
	err = l.run(context.Background(), func() bool { return len(got) == 5 && ticks == 3 })
	if want := []int{3, 1, 4, 0, 2}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, want %v, %v", got, want, err)
	}
}

func TestLoopEndsWithItsContext(t *testing.T) {
	l, err := newLoop()
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := l.run(ctx, func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
