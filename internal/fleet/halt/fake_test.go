package halt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/congctl/congctl/internal/fleet/pop"
	"github.com/congctl/congctl/internal/loop/control"
)

// fake is a PoP with its log, and the controllers that share it. Most of it has no lock: synctest.Wait comes before a look.
type fake struct {
	control.Action
	room   *Room
	here   atomic.Pointer[Switch]
	looked atomic.Int64 // whether it is here
	users  sync.WaitGroup

	owner       atomic.Value
	asked       int
	signs, away error         // away: the log
	slow        time.Duration // the log

	stored  []string // what the log has, by whom
	ids     string   // the setting
	evicted int
	audited []string
	refused []string

	leave []func()
}

func newFake() *fake {
	f := &fake{}
	f.room = NewRoom(Options{PoP: "chi", Self: "one", Peers: f, Refused: func(text string) { f.refused = append(f.refused, text) }, Here: func() *Switch {
		f.looked.Add(1)
		s := f.here.Load()
		if s != nil {
			f.users.Add(1)
		}
		return s
	}})
	return f
}

// take makes the PoP this controller's.
func (f *fake) take(t *testing.T) {
	f.here.Store(&Switch{Action: f, Controller: f, Log: f, Room: f.room, Users: &f.users})
	if err := f.here.Load().MoveIn(t.Context()); err != nil && f.away == nil {
		t.Error(err)
	}
}

func (f *fake) Owner(context.Context) (string, bool) {
	f.asked++
	name, _ := f.owner.Load().(string)
	return name, name != "not yet"
}
func (f *fake) Sign(id, by string) ([]byte, error) { return []byte(id + " " + by), f.signs }
func (f *fake) Read(text []byte) (id, by string, err error) {
	id, by, ok := strings.Cut(string(text), " ")
	if !ok {
		err = errors.New("no signature")
	}
	return id, by + ", by token", err
}

func (f *fake) Stop(ctx context.Context, evict bool, by string) error {
	time.Sleep(f.slow)
	err := errors.Join(f.away, ctx.Err())
	if err == nil {
		f.stored = append(f.stored, by)
	}
	return err
}
func (f *fake) Resume(context.Context, string) error { return f.away }
func (f *fake) Evict(context.Context, string) error  { f.evicted++; return nil }
func (f *fake) Audit(_ context.Context, a control.Act) {
	f.audited = append(f.audited, a.Name+" by "+a.By)
}
func (f *fake) Setting(context.Context, string) ([]byte, bool, error) {
	return []byte(f.ids), true, nil
}
func (f *fake) SetSetting(_ context.Context, _ string, value []byte) error {
	f.ids = string(value)
	return nil
}

// follower is an agent at the room.
type follower struct {
	orders []pop.Order
	send   func(pop.Order) error
	leave  func()
	deaf   bool // it reports nothing
}

func (f *fake) follow(t *testing.T, host string) *follower {
	a := &follower{}
	var err error
	a.send, a.leave, err = f.room.Enter(t.Context(), host, func(o pop.Order) error {
		a.orders = append(a.orders, o)
		if !a.deaf {
			f.room.Heard(host, o.Stopped)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.leave = append(f.leave, a.leave)
	synctest.Wait() // until it waits: one that begins between put and look of a stop gets it twice
	return a
}

// said is the agent's orders since the last look.
func (a *follower) said() string {
	synctest.Wait()
	var b strings.Builder
	for _, o := range a.orders {
		fmt.Fprintf(&b, "stopped=%t evict=%t plan=%s stop=%t;", o.Stopped, o.Evict, o.Plan, o.Stop != nil)
	}
	a.orders = nil
	return b.String()
}

const (
	stopOrder  = "stopped=true evict=false plan= stop=true;"
	evictOrder = "stopped=true evict=true plan= stop=true;"
)

// unstored wants the answer that a stop holds and is not stored, and how much time it took.
func unstored(t *testing.T, err error, began time.Time, took time.Duration, want string) {
	t.Helper()
	said, ok := errors.AsType[*control.Error](err)
	if !ok || said.Code != control.Unstored || !strings.HasPrefix(said.Text, want) {
		t.Errorf("%v, want %s", err, want)
	}
	if got := time.Since(began).Round(storeWait / 10); got != took {
		t.Errorf("answered after %s, want %s", got, took)
	}
}

// in runs a test in a bubble of made-up time, whose stop ends with it.
func in(t *testing.T, test func(*testing.T, *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		test(t, f)
		f.room.done()
		f.users.Wait()
		time.Sleep(askAgain + 1) // what watches over a stop ends
		for _, leave := range f.leave {
			leave()
		}
	})
}
