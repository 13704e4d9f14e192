package uplink

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// list is a queue in memory.
type list struct {
	batches []string
	more    chan struct{}
	flushed int
}

func (l *list) Next() ([]byte, error) {
	if len(l.batches) == 0 {
		return nil, nil
	}
	return []byte(l.batches[0]), nil
}
func (l *list) Delivered()            { l.batches = l.batches[1:] }
func (l *list) More() <-chan struct{} { return l.more }
func (l *list) Flush()                { l.flushed++ }

func (l *list) add(b string) { l.batches = append(l.batches, b); l.more <- struct{}{} }

// far is a sink with a fault that can be set.
type far struct {
	fault error
	got   []string
	tries int
}

func (f *far) Send(_ context.Context, b []byte) error {
	f.tries++
	if string(b) == "bad" {
		return errRefused
	}
	if f.fault == nil {
		f.got = append(f.got, string(b))
	}
	return f.fault
}

var errRefused, errAway = errors.New("refused"), errors.New("away")

// TestRun: in order, each once; a refused batch blocks nothing; an outage of an hour costs a few
// tries a minute and loses nothing.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		l, f := &list{more: make(chan struct{}, 1)}, &far{}
		var told, lost []error
		done := make(chan struct{})
		go func() {
			defer close(done)
			Run(ctx, l, f, Options{FlushEvery: 5 * time.Second, Refused: errRefused,
				Told: func(err error) { told = append(told, err) }, Lost: func(err error) { lost = append(lost, err) }})
		}()
		l.add("1")
		synctest.Wait()
		l.add("bad")
		synctest.Wait()
		l.add("2")
		synctest.Wait()
		f.fault = errAway
		tries := f.tries
		l.add("3")
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := f.tries - tries; n < 360 || n > 1500 {
			t.Errorf("%d tries in an hour", n)
		}
		l.batches = append(l.batches, "4")
		f.fault = nil
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		stop()
		<-done
		if len(f.got) != 4 || f.got[0]+f.got[1]+f.got[2]+f.got[3] != "1234" {
			t.Errorf("delivered %q", f.got)
		}
		if len(told) != 2 || told[0] != errAway || told[1] != nil || len(lost) != 1 || l.flushed < 700 {
			t.Errorf("told %v, lost %v, flushed %d", told, lost, l.flushed)
		}
	})
}

// TestBackoff: nothing below 0, nothing above the cap, twice as long each time.
func TestBackoff(t *testing.T) {
	for failures, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second} {
		if got := Backoff(failures, 0); got != 0 {
			t.Errorf("%d failures, draw 0: %s", failures, got)
		}
		if got := Backoff(failures, 0.5); got != most/2 {
			t.Errorf("%d failures, draw 0.5: %s", failures, got)
		}
	}
}
