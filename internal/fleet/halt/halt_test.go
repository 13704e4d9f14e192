package halt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/congctl/congctl/internal/fleet/pop"
	"github.com/congctl/congctl/internal/loop/control"
)

// TestStopWithoutPoP: a stop reaches the agents that are here and those that come, with each order, and its answer says
// which of them have not confirmed it.
func TestStopWithoutPoP(t *testing.T) {
	in(t, func(t *testing.T, f *fake) {
		began := time.Now()
		unstored(t, f.room.Stop(t.Context(), false, "ann"), began, storeWait, "0 of 0 agents that follow this controller are stopped, and each")
		f.room.done()
		a, b := f.follow(t, "edge-1"), f.follow(t, "edge-2")
		b.deaf = true
		f.room.Heard("edge-2", true) // of an earlier stop
		began = time.Now()
		unstored(t, f.room.Stop(t.Context(), false, "ann"), began, storeWait, "1 of 2 agents that follow this controller are stopped (not yet edge-2), and each")
		if one, two := a.said(), b.said(); one != stopOrder || two != stopOrder {
			t.Errorf("%s, %s", one, two)
		}
		b.deaf = false
		began = time.Now()
		unstored(t, f.room.Stop(t.Context(), true, "bob"), began, 0, "2 of 2 agents that follow this controller are stopped, and each")
		a.said()
		_ = f.room.Stop(t.Context(), false, "cyd")
		c := f.follow(t, "edge-3")
		if one, three := a.said(), c.said(); one != evictOrder || three != evictOrder {
			t.Errorf("%s, %s", one, three)
		}
		if err := c.send(pop.Order{Plan: []byte("p")}); err != nil || c.said() != "stopped=true evict=false plan=p stop=true;" {
			t.Error(err)
		}
		if text, _, _ := f.room.pending(); !strings.HasSuffix(string(text), " ann") {
			t.Errorf("pending: %s: the earlier one stays", text)
		}
	})
}

// TestNewStream: an agent that connects anew takes its earlier stream's place, and must confirm the stop again.
func TestNewStream(t *testing.T) {
	in(t, func(t *testing.T, f *fake) {
		old := f.follow(t, "edge-1")
		f.room.Heard("edge-1", true)
		again := f.follow(t, "edge-1")
		old.leave()
		if all, missing := f.room.count(); all != 1 || len(missing) != 1 {
			t.Errorf("%d, %v", all, missing)
		}
		again.leave()
		f.room.Heard("edge-1", true)
		if all, _ := f.room.count(); all != 0 {
			t.Error(all)
		}
	})
}

// TestForgotten: a pending stop stays until another controller is known to have the PoP, which one goroutine looks for.
func TestForgotten(t *testing.T) {
	in(t, func(t *testing.T, f *fake) {
		a := f.follow(t, "edge-1")
		for range 9 {
			_ = f.room.Stop(t.Context(), true, "ann")
		}
		f.looked.Store(0)
		for _, owner := range []string{"", "one", "not yet"} {
			f.owner.Store(owner)
			time.Sleep(time.Minute)
			if text, evict, _ := f.room.pending(); text == nil || !evict {
				t.Errorf("owner %q: forgotten", owner)
			}
		}
		if n := f.looked.Load(); n > int64(3*time.Minute/askAgain)+1 {
			t.Errorf("looked %d times", n)
		}
		f.owner.Store("two")
		time.Sleep(2 * askAgain)
		for range 2 {
			if text, evict, _ := f.room.pending(); text != nil || evict {
				t.Error("not forgotten")
			}
			f.room.look(true) // as for a stop that is stored late
		}
		a.said()
		if err := a.send(pop.Order{}); err != nil || a.said() != "stopped=false evict=false plan= stop=false;" {
			t.Error(err)
		}
	})
}

// TestSentAway: an agent that another controller is for gets no stop here.
func TestSentAway(t *testing.T) {
	in(t, func(t *testing.T, f *fake) {
		f.owner.Store("not yet")
		_ = f.room.Stop(t.Context(), false, "ann")
		f.owner.Store("two")
		_, _, err := f.room.Enter(t.Context(), "edge-1", func(o pop.Order) error { t.Errorf("%+v", o); return nil })
		synctest.Wait()
		if all, _ := f.room.count(); err == nil || all != 0 {
			t.Errorf("%v, %d here", err, all)
		}
	})
}

// TestStop: where the PoP is here, agents stop before the log has the stop; with a log that is slow or away, they keep it.
func TestStop(t *testing.T) {
	gone := errors.New("gone")
	for _, c := range []struct {
		what        string
		evict       bool
		slow        time.Duration
		signs, away error
		unstored    string // "": stored when it is answered
		orders      string
		stored      string
		audited     []string
		evicted     int
	}{
		{what: "log at hand", orders: stopOrder, stored: "ann"},
		{what: "log at hand, evict", evict: true, orders: stopOrder, stored: "ann", evicted: 1},
		{what: "slow log", slow: 3 * storeWait, unstored: "1 of 1 agents", orders: stopOrder, stored: "ann", audited: []string{"stop by ann"}},
		{what: "slow log, evict", evict: true, slow: 3 * storeWait, unstored: "1 of 1 agents", orders: stopOrder + evictOrder, stored: "ann", audited: []string{"stop by ann"}},
		{what: "log away", away: gone, unstored: "1 of 1 agents", orders: stopOrder},
		{what: "log away, evict", evict: true, away: gone, unstored: "1 of 1 agents", orders: stopOrder + evictOrder},
		{what: "no certificate", signs: gone, stored: "ann"},
	} {
		t.Run(c.what, func(t *testing.T) {
			in(t, func(t *testing.T, f *fake) {
				f.take(t)
				f.slow, f.signs, f.away = max(c.slow, storeWait/2), c.signs, c.away
				a := f.follow(t, "edge-1")
				synctest.Wait()
				began := time.Now()
				ctx, gone := context.WithCancel(t.Context())
				err := f.here.Load().Stop(ctx, c.evict, "ann")
				gone() // the client
				switch {
				case c.unstored != "":
					unstored(t, err, began, min(f.slow, storeWait), c.unstored)
				case !errors.Is(err, c.signs):
					t.Error(err)
				}
				time.Sleep(f.slow)
				if got := a.said(); got != c.orders {
					t.Errorf("orders: %s, want %s", got, c.orders)
				}
				if strings.Join(f.stored, ",") != c.stored || !slices.Equal(f.audited, c.audited) || f.evicted != c.evicted {
					t.Errorf("stored %v, audited %v, evicted %d", f.stored, f.audited, f.evicted)
				}
				if text, _, _ := f.room.pending(); (text != nil) != (c.away != nil) {
					t.Errorf("pending: %s", text)
				}
			})
		})
	}
}

// TestMoveIn: a stop that came before the PoP is stored once, in the name of its operator, at whichever controller, and not
// again when it was resumed meanwhile.
func TestMoveIn(t *testing.T) {
	in(t, func(t *testing.T, f *fake) {
		_ = f.room.Stop(t.Context(), false, "ann")
		text, _, _ := f.room.pending()
		f.away = errors.New("gone")
		f.take(t)
		if err := f.here.Load().Take(t.Context(), text); err == nil || f.stored != nil || f.audited != nil {
			t.Errorf("%v, %v, %v", err, f.stored, f.audited)
		}
		f.away = nil
		f.take(t)
		for range 2 {
			if err := f.here.Load().Take(t.Context(), text); err != nil {
				t.Error(err)
			}
		}
		again, _, _ := f.room.pending()
		f.room.put(strings.Fields(string(text))[0], text) // as another controller has it, which did not hear that
		f.take(t)
		left, _, _ := f.room.pending()
		if want := []string{"ann, by token"}; !slices.Equal(f.stored, want) || !slices.Equal(f.audited, []string{"stop by " + want[0]}) || again != nil || left != nil {
			t.Errorf("stored %v, audited %v, pending %s, %s", f.stored, f.audited, again, left)
		}
	})
}

// TestResume: what is pending ends with a resume that is stored.
func TestResume(t *testing.T) {
	in(t, func(t *testing.T, f *fake) {
		f.take(t)
		f.room.put("1", []byte("1 ann"))
		for _, f.away = range []error{errors.New("gone"), nil} {
			err := f.here.Load().Resume(t.Context(), "ann")
			if text, _, _ := f.room.pending(); !errors.Is(err, f.away) || (text != nil) != (err != nil) {
				t.Errorf("%v, pending %s", err, text)
			}
		}
	})
}

// TestID: a stop has the id of its request, so that other controllers name the same, where that is one of our client.
func TestID(t *testing.T) {
	const good = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, asked := range []string{good, "", "A", good + "A", good[:25] + " ", good[:12] + " " + good[:13]} {
		in(t, func(t *testing.T, f *fake) {
			f.take(t)
			h := control.NewHandler(slog.New(slog.DiscardHandler), func(context.Context) string { return "ann" })
			control.HandleStop(h, f.room.Stop)
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/stop", strings.NewReader(`{"id":"`+asked+`"}`)))
			if ids := strings.Fields(f.ids); len(ids) != 1 || len(ids[0]) != len(good) || (ids[0] == good) != (asked == good) {
				t.Errorf("%q: %q", asked, f.ids)
			}
		})
	}
}

// TestTake: what no controller signed stops nothing, and the list of stops is bounded.
func TestTake(t *testing.T) {
	in(t, func(t *testing.T, f *fake) {
		var alone *Switch
		if err := alone.Take(t.Context(), []byte("1 ann")); err != nil {
			t.Error(err)
		}
		f.take(t)
		for _, text := range []string{"", "made-up"} {
			if err := f.here.Load().Take(t.Context(), []byte(text)); err != nil || f.stored != nil {
				t.Errorf("%q: %v, %v", text, err, f.stored)
			}
		}
		if want := []string{"pop chi: an agent shows a stop that no controller signed: no signature"}; !slices.Equal(f.refused, want) {
			t.Error(f.refused)
		}
		for i := range 2 * maxHalts {
			_ = f.here.Load().Take(t.Context(), fmt.Appendf(nil, "%d ann", i))
		}
		if ids := strings.Fields(f.ids); len(ids) != maxHalts || ids[0] != fmt.Sprint(maxHalts) || len(f.stored) != 2*maxHalts {
			t.Errorf("%d ids from %s on, %d stored", len(ids), ids[0], len(f.stored))
		}
	})
}

// TestStopAsItMovesIn: a stop that finds the PoP here after all is stored.
func TestStopAsItMovesIn(t *testing.T) {
	in(t, func(t *testing.T, f *fake) {
		f.take(t)
		if err := f.room.Stop(t.Context(), true, "ann"); err != nil || !slices.Equal(f.stored, []string{"ann"}) || f.evicted != 1 {
			t.Errorf("%v, %v, %d", err, f.stored, f.evicted)
		}
	})
}

// TestAwait: an agent waits for a PoP that no other controller is known to have, until it comes here or roomWait is over.
func TestAwait(t *testing.T) {
	const none, taking = "pop chi is not decided here, and Kafka names no controller that does", "pop chi is being taken over here: ask again in a moment"
	for _, c := range []struct {
		owner string
		comes time.Duration // the PoP; 0: never
		ends  time.Duration // the agent's stream
		takes time.Duration
		want  string
	}{
		{"", 0, time.Hour, roomWait + askAgain, none},
		{"not yet", 0, time.Hour, roomWait + askAgain, none},
		{"one", 0, time.Hour, roomWait + askAgain, taking},
		{"two", 0, time.Hour, 0, "pop chi is not decided here, but by controller two"},
		{"one", 5500 * time.Millisecond, time.Hour, 5500 * time.Millisecond, ""},
		{"", 0, 3 * time.Second, 3 * time.Second, none},
	} {
		in(t, func(t *testing.T, f *fake) {
			f.owner.Store(c.owner)
			began := time.Now()
			if c.comes > 0 {
				time.AfterFunc(c.comes, func() { f.take(t) })
			}
			ctx, end := context.WithTimeout(t.Context(), c.ends)
			defer end()
			err := f.room.Await(ctx)
			if text := fmt.Sprint(err); text != c.want && (err != nil || c.want != "") {
				t.Errorf("%+v: %v", c, err)
			}
			if took := time.Since(began); took != c.takes {
				t.Errorf("%+v: after %s", c, took)
			}
		})
	}
}

// TestOwnerIsRemembered: many questions are one to Kafka, once it can be asked at all.
func TestOwnerIsRemembered(t *testing.T) {
	in(t, func(t *testing.T, f *fake) {
		f.owner.Store("not yet")
		first := f.room.Vacant(t.Context())
		f.owner.Store("two")
		for range 100 {
			if !first || f.room.Vacant(t.Context()) {
				t.Fatal(first)
			}
		}
		f.owner.Store("one")
		time.Sleep(askAgain + 1)
		if !f.room.Vacant(t.Context()) || f.asked != 3 {
			t.Errorf("asked %d times", f.asked)
		}
	})
}
