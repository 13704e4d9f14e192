package pop

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestOperators: a freeze and an abort take back what is on its way, a frozen PoP takes an operator's plan
// and no round's, and a restart knows that it is frozen.
func TestOperators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		p := start(t, f, Past{})
		var silent atomic.Bool
		join(t, p, "a", func(o Order) Report {
			if silent.Load() {
				return Report{}
			}
			return accept(o)
		})
		ok := func(doing string, err error) { t.Helper(); judge(t, doing, "", err) }
		refused := func(doing, want string, err error) { t.Helper(); judge(t, doing, want, err) }
		back := func(n int) {
			t.Helper()
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.rewrites) != n || f.rewrites[n-1] != p.Hosts().Base.Serial {
				t.Errorf("written anew: %v", f.rewrites)
			}
		}
		ok("first plan", p.SetPlan(f.plan(1, 1)))
		refused("abort of nothing", "nothing rolls out", p.Abort("ann"))
		silent.Store(true)
		ok("on its way", p.SetPlan(f.plan(2, 2)))
		ok("abort", p.Abort("ann"))
		back(1)
		ok("its answer", p.SetPlan(f.plan(3, 1)))
		silent.Store(false)
		pass(rollout.DefaultRules().Limit)
		silent.Store(true)
		ok("on its way", p.SetPlan(f.plan(4, 2)))
		p.Freeze(true, "ann")
		synctest.Wait()
		back(2)
		ok("its answer", p.SetPlan(f.plan(5, 1)))
		silent.Store(false)
		pass(rollout.DefaultRules().Limit)
		refused("a round's", "the plan is frozen", p.SetPlan(f.plan(6, 2)))
		ok("an operator's", p.Offer(f.plan(7, 2), "ann"))
		if s := p.Hosts(); s.Base.Serial != 7 || !s.Frozen {
			t.Errorf("%+v", s)
		}
		var kept rollout.State
		for _, on := range []bool{true, false} {
			p.Freeze(on, "ann")
			f.mu.Lock()
			if err := json.Unmarshal(f.kept, &kept); err != nil || kept.Frozen != on {
				t.Errorf("kept %s: %v", f.kept, err)
			}
			f.mu.Unlock()
		}
		told := strings.Join(f.events(), "\n")
		if !strings.Contains(told, "plan 2: aborted by ann") || !strings.Contains(told, "plan 4: the plan was frozen by ann") {
			t.Errorf("told %s", told)
		}
	})
}

// judge wants an error with a text, or none, once all is done.
func judge(t *testing.T, doing, want string, err error) {
	t.Helper()
	synctest.Wait()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v", doing, err)
	}
}

// TestFrozenUnderAnotherHeader: a plan that is frozen is renewed though the configuration has changed, and new
// networks still do not come in.
func TestFrozenUnderAnotherHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		p := start(t, f, Past{})
		join(t, p, "edge", accept)
		set := func(serial record.PlanID, networks int) error {
			err := p.SetPlan(f.plan(serial, networks))
			pass(5 * time.Second)
			return err
		}
		if err := set(1, 2); err != nil {
			t.Fatal(err)
		}
		p.Freeze(true, "ann")
		f.washout = 600
		if err := set(2, 3); err == nil || p.Hosts().Base.Serial != 1 {
			t.Errorf("plan %d with another network is in force, %v", p.Hosts().Base.Serial, err)
		}
		if err := set(3, 2); err != nil || p.Hosts().Base.Serial != 3 {
			t.Errorf("plan %d is in force, %v; want 3, which treats the same", p.Hosts().Base.Serial, err)
		}
	})
}

// TestObservers: windows say that nothing can be treated while hosts are connected and all of them only observe. An older agent
// does not say what it can do, and counts as one that treats.
func TestObservers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		p := start(t, f, Past{})
		at := present()
		var leave []func()
		for i, c := range []struct {
			tier string // of a host that comes; "all leave"
			want bool
		}{{"observe", true}, {"observe", true}, {"route", false}, {"all leave", false}, {"observe", true}, {"", false}} {
			if name := string(rune('a' + i)); c.tier == "all leave" {
				for _, fn := range leave {
					fn()
				}
			} else {
				leave = append(leave, joinAt(t, p, name, c.tier, Takes{}, accept))
			}
			pass(time.Unix(at+w, 0).Sub(time.Now()) + 31*time.Second)
			at += w
			if all := f.decided(); len(all) != i+1 || all[i].Untreated != c.want {
				t.Fatalf("after %q: %+v", c.tier, all)
			}
		}
		if tier := p.Hosts().Hosts["c"].Tier; tier != "route" {
			t.Errorf("tier %q", tier)
		}
	})
}

// TestVersionOfHosts: a window has the version of BBR that more than half of the connected hosts have, whether or not they sent it.
// An older agent, which does not say, counts against each.
func TestVersionOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		p := start(t, f, Past{})
		at := present()
		leave := map[string]func(){}
		for i, c := range []struct {
			come, gone string
			version    int
			want       int
		}{{"a", "", 1, 1}, {"b", "", 3, 0}, {"c", "", 3, 3}, {"d", "", 1, 0}, {"old", "", 0, 0}, {"", "a", 0, 0}, {"", "d", 0, 3}, {"", "b", 0, 0}} {
			if c.come != "" {
				ctx, stop := context.WithCancel(t.Context())
				leave[c.come] = stop
				go func() {
					_ = p.Follow(ctx, rollout.Connect{Host: c.come, Boot: "b", BBR: c.version}, Takes{}, func(Order) error { return nil })
				}()
			} else {
				leave[c.gone]()
			}
			synctest.Wait()
			f.send(at, "c", End{}) // alone
			pass(time.Unix(at+w, 0).Sub(time.Now()) + 31*time.Second)
			at += w
			if all := f.decided(); len(all) != i+1 || all[i].BBRVersion != c.want {
				t.Fatalf("after %+v: %d windows, the last %+v", c, len(all), all[len(all)-1])
			}
		}
	})
}

// TestClientKeys: a host gets the keys of today and tomorrow with each order. They are others each day, in each PoP and by
// each controller, and in nothing that a plan has.
func TestClientKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		p := start(t, f, Past{})
		orders := make(chan Order, 16)
		join(t, p, "a", func(o Order) Report { orders <- o; return accept(o) })
		synctest.Wait()
		first := (<-orders).ClientKeys
		today := record.ClientDay(time.Now().Unix())
		if len(first) != 2 || first[0].Day != today || first[1].Day != today+1 || len(first[0].Key) != 32 || bytes.Equal(first[0].Key, first[1].Key) {
			t.Fatalf("keys %v on day %d", first, today)
		}
		time.Sleep(24 * time.Hour)
		for len(orders) > 0 {
			<-orders
		}
		judge(t, "a plan", "", p.SetPlan(f.plan(1, 1)))
		next := (<-orders)
		if k := next.ClientKeys; len(k) != 2 || k[0].Day != today+1 || !bytes.Equal(k[0].Key, first[1].Key) || bytes.Equal(k[1].Key, first[1].Key) {
			t.Errorf("a day later %v, before %v", k, first)
		}
		seen := map[string]bool{string(first[0].Key): true}
		for _, o := range []Options{{Name: "ams", Key: p.opt.Key}, {Name: p.opt.Name, Key: []byte("another controller's")}, {Name: p.opt.Name, Key: make([]byte, 16)}} {
			other := &PoP{opt: o, now: func() time.Time { return time.Unix(today*86400, 0) }}
			k := other.clientKeys()[0]
			if k.Day != today || seen[string(k.Key)] {
				t.Errorf("PoP %s has the key of another", o.Name)
			}
			seen[string(k.Key)] = true
		}
	})
}
