package main

import (
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

// fillable is a store that can run out of space.
type fillable struct {
	*sqlite.Store
	full bool
}

func (f *fillable) CommitRound(ctx context.Context, c *journal.Commit) error {
	if f.full {
		return errors.New("no space left on device")
	}
	return f.Store.CommitRound(ctx, c)
}

type noSockets struct{ agent.Sockets }

var errNoSockets = errors.New("no sockets here")

func (noSockets) Namespaces() ([]agent.Namespace, error) { return nil, errNoSockets }

// newLoop is a loop without a kernel.
func newLoop(t *testing.T) (*up, *fillable) {
	t.Helper()
	cfg := config.Default()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{CreatedBy: "test", At: time.Now()})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	u, store := &up{edgeHost: edgeHost{cfg: cfg, log: newLog(cfg.Log, io.Discard), alarms: make(chan alarm, 64)}, store: s}, &fillable{Store: s}
	u.owner = u
	u.keep.Store(&cfg)
	u.instance, err = instance.Acquire(t.TempDir())
	check(t, err)
	t.Cleanup(func() { check(t, u.instance.Release()) })
	rules, err := rulesOf(cfg)
	check(t, err)
	u.controller, err = controller.New(t.Context(), controller.Options{
		PoP: "pop", Rules: rules, Treatment: "bbr",
	}, store, u.log, time.Now)
	check(t, err)
	u.agent = agent.New(agent.Options{Poll: cfg.Poll, Window: cfg.Window, Block: cfg.Experiment.Block, Washout: cfg.Experiment.Washout, MaxConns: 1, MaxPrefixes: 1},
		agent.Deps{Sockets: noSockets{}, Clock: func() (int64, int64) { return 0, 0 }, Starved: func() (string, error) { return "", nil },
			OnAlarm: u.onAlarm, OnClear: u.onClear})
	return u, store
}

// A loop whose every round fails must not look healthy.
func TestAFailingRoundIsAnAlarmOfTheStatus(t *testing.T) {
	u, store := newLoop(t)
	window := int64(u.cfg.Window / time.Second)
	start := time.Now().Unix() / window * window
	for i, full := range []bool{true, true, false} {
		store.full = full
		u.onWindow(t.Context(), agent.ClosedWindow{Start: start + int64(i)*window})
		got := u.agent.Status().Alarms
		if full && (len(got) != 1 || !strings.HasPrefix(got[0], "round: keep round of ") || !strings.HasSuffix(got[0], "no space left on device")) || !full && len(got) != 0 {
			t.Errorf("window %d, store full %t: alarms %q", i, full, got)
		}
	}
	close(u.alarms)
	var kinds []string
	for a := range u.alarms {
		kinds = append(kinds, a.kind)
	}
	if want := []string{"alarm-round", "alarm-over"}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("events %q, want %q", kinds, want)
	}
}

// A clock that jumps ahead deletes nothing, whether its windows are known or not; one that has
// been at work for a day deletes what is due.
func TestWrongClockPrunesNothing(t *testing.T) {
	u, _ := newLoop(t)
	window := int64(u.cfg.Window / time.Second)
	const day, year = 86400, 365 * 86400
	start := int64(1_800_000_000) / window * window
	commit := func(at int64) {
		check(t, u.store.CommitRound(t.Context(), &journal.Commit{Closed: true, Start: at}))
	}
	kept := func() int {
		heads, err := u.store.Heads(t.Context(), 0, math.MaxInt64)
		check(t, err)
		return len(heads)
	}
	for i := range int64(45) {
		commit(start + i*window)
	}
	ahead := start + 45*window + year
	for i := range int64(3) { // each a round of the wrong clock
		commit(ahead + i*window)
		u.prune(t.Context(), ahead+(i+1)*window)
	}
	if n := kept(); n != 48 {
		t.Errorf("%d of 48 windows are left after a step of a year", n)
	}
	last := start + int64(u.cfg.Store.KeepWindows/time.Second) + 10*window
	for at := last - day; at < last; at += window {
		commit(at)
	}
	was := kept()
	u.prune(t.Context(), last) // ten are due
	if n := kept(); n != was-1 {
		t.Errorf("%d windows deleted by a clock that is believed, want 1", was-n)
	}
	shorter := u.cfg
	shorter.Store.KeepWindows = day * time.Second
	u.keep.Store(&shorter)
	u.prune(t.Context(), last)
	if n := kept(); n != was-3 {
		t.Errorf("%d windows deleted of more than are to be kept, want 2", was-1-n)
	}
}

// The agent closes its last windows after the context has ended.
func TestAlarmsOfTheShutdownAreKept(t *testing.T) {
	u, store := newLoop(t)
	const n = 20
	for range n {
		u.onAlarm("round", "a round failed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.run(ctx, nil); !errors.Is(err, errNoSockets) {
		t.Errorf("run: %v", err)
	}
	events, err := store.Events(t.Context(), 0, 0)
	if err != nil || len(events) != n {
		t.Errorf("%d events of %d are in the store, %v", len(events), n, err)
	}
}

// An event that the store cannot take, the meter's alarms among them, stands in the status.
func TestAlarmsOfAStoreThatTakesNone(t *testing.T) {
	u, store := newLoop(t)
	settle := func() {
		for len(u.alarms) > 0 {
			u.keepEvent(t.Context(), <-u.alarms)
		}
	}
	store.full = true
	u.onMeter("goodput", "goodput of window not stored: disk full")
	settle()
	want := []string{"events: the store does not take events, the last was alarm-goodput: no space left on device", "goodput: goodput of window not stored: disk full"}
	if got := u.agent.Status().Alarms; !reflect.DeepEqual(got, want) {
		t.Errorf("alarms %q", got)
	}
	store.full = false
	u.onMeter("goodput", "")
	settle()
	if got := u.agent.Status().Alarms; len(got) > 0 {
		t.Errorf("over, and alarms %q", got)
	}
}
