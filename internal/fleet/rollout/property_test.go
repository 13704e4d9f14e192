package rollout

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

// revived is a state after a crash.
func revived(t rapid.TB, s State) (back State) {
	t.Helper()
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	return back
}

// agent is a model of a host: what its kernel really has, and what it has not read yet.
type agent struct {
	connected, stopped bool
	boot               int
	has                Plan
	acked              Plan // on this connection; zero: nothing
	spoilt             bool // since its last right answer it lost, refused or miscounted something
	inbox              []Order
	idle               time.Duration // so long there was something unread
}

// world is one PoP with its controller.
type world struct {
	t      *rapid.T
	r      *Rollout
	nowNs  int64
	agents map[string]*agent
	plans  map[record.PlanID]Plan // signed so far
	top    record.PlanID
	writes []Order // the controller has not answered yet
	pushed bool    // an operator has, in this freeze
}

const planLifeS = 600

func newWorld(t *rapid.T) *world {
	w := &world{t: t, nowNs: noonNs, agents: map[string]*agent{}, plans: map[record.PlanID]Plan{}}
	rules := DefaultRules()
	rules.Share = 0.5 // a PoP of three hosts has a second stage
	w.r = New("ams", []byte("key"), rules, State{})
	for i := range rapid.IntRange(1, 7).Draw(t, "hosts") {
		w.agents[fmt.Sprint("h", i)] = &agent{}
	}
	return w
}

// step gives an event to the machine and to one that has just crashed, and checks all that holds at any time.
func (w *world) step(e Event) (refused bool) {
	other := New("ams", []byte("key"), w.r.rules, revived(w.t, w.r.State))
	orders := w.r.Step(w.nowNs, e)
	if got := other.Step(w.nowNs, e); !reflect.DeepEqual(got, orders) {
		w.t.Fatalf("after a crash, %#v gives\n%s", e, cmp.Diff(orders, got))
	}
	for _, o := range orders {
		switch o.Do {
		case OrderSend:
			w.checkSend(o)
			w.agents[o.Host].inbox = append(w.agents[o.Host].inbox, o)
		case OrderStop:
			w.agents[o.Host].inbox = append(w.agents[o.Host].inbox, o)
		case OrderWrite:
			w.writes = append(w.writes, o)
		case OrderTell: // by which the history of plans finds it
			if serial := 0; o.Kind != KindHost {
				if n, _ := fmt.Sscanf(o.Text, "plan %d", &serial); n != 1 {
					w.t.Fatalf("%s names no plan first: %s", o.Kind, o.Text)
				}
			}
		case OrderRefuse:
			refused = true
		}
	}
	w.checkContents()
	return refused
}

func (w *world) checkSend(o Order) {
	a, p, s := w.agents[o.Host], w.plans[o.Serial], &w.r.State
	switch {
	case !a.connected:
		w.t.Fatalf("plan %d sent to %s, which is gone", o.Serial, o.Host)
	case s.Killed:
		w.t.Fatalf("plan %d sent to %s while killed", o.Serial, o.Host)
	case o.Serial < a.has.Serial:
		w.t.Fatalf("plan %d sent to %s, which has plan %d", o.Serial, o.Host, a.has.Serial)
	case p.Serial == 0 || p.expired(w.nowNs):
		w.t.Fatalf("plan %d sent to %s: expired or unknown", o.Serial, o.Host)
	case s.Frozen && !w.pushed && networks(p) != networks(s.Base):
		w.t.Fatalf("plan %d sent to %s while frozen", o.Serial, o.Host)
	}
	for _, earlier := range a.inbox {
		if earlier.Do == OrderSend && earlier.Serial > o.Serial {
			w.t.Fatalf("plan %d sent to %s behind plan %d", o.Serial, o.Host, earlier.Serial)
		}
	}
}

// checkContents: of hosts that have read all that was sent to them and are in line, at most two contents that treat now:
// one that was slow may have a plan for a moment that two later ones replaced. A host may be set aside only for a reason.
func (w *world) checkContents() {
	var contents []string
	for name, a := range w.agents {
		h := w.r.State.Hosts[name]
		if h != nil && h.Astray && !a.spoilt {
			w.t.Fatalf("%s is set aside and has answered everything: %+v", name, h)
		}
		if !a.connected || len(a.inbox) > 0 || a.acked.Prefixes == 0 || a.acked.expired(w.nowNs) || h.Astray || slices.Contains(contents, networks(a.acked)) {
			continue
		}
		contents = append(contents, networks(a.acked))
	}
	if len(contents) > 2 {
		w.t.Fatalf("hosts have contents %v: stage %s", contents, w.r.State.Stage)
	}
}

// offer signs a plan and offers it.
func (w *world) offer(content string, prefixes int, by string) {
	w.top++
	p := Plan{Serial: w.top, Hash: fmt.Sprint("hash", w.top), Content: content, Prefixes: prefixes, Expires: w.nowNs/1e9 + planLifeS}
	w.plans[p.Serial] = p
	w.pushed = w.pushed || by != ""
	w.step(Offer{Plan: p, By: by, Held: networks(p) == networks(w.r.State.Base)})
}

// networks is a content without its header: A and A' treat the same.
func networks(p Plan) string { return strings.TrimRight(p.Content, "'") }

// answer is the controller's to what it was asked to write.
func (w *world) answer() {
	if len(w.writes) == 0 {
		return
	}
	o := w.writes[0]
	w.writes = w.writes[1:]
	p, ok := w.plans[o.Serial]
	if !ok {
		p = Plan{Content: "Z"}
	}
	if w.top%4 == 0 && p.Prefixes > 0 {
		p.Content += "'" // the configuration has changed
	}
	w.offer(p.Content, p.Prefixes, "")
}

func (w *world) connect(name string) {
	a := w.agents[name]
	w.disconnect(name)
	a.connected = true
	w.step(Connect{Host: name, Boot: fmt.Sprint(a.boot), Serial: a.has.Serial, Hash: a.has.Hash})
}

func (w *world) disconnect(name string) {
	a := w.agents[name]
	if len(a.inbox) > 0 {
		a.spoilt = true
	}
	if a.inbox, a.acked = nil, (Plan{}); a.connected {
		a.connected = false
		w.step(Disconnect{name})
	}
}

func (w *world) reboot(name string) {
	w.disconnect(name)
	a := w.agents[name]
	a.boot++
	a.has, a.stopped = Plan{}, false
	w.connect(name)
}

// read has an agent read its oldest order, as how says.
func (w *world) read(name, how string) {
	a := w.agents[name]
	if len(a.inbox) == 0 {
		return
	}
	o := a.inbox[0]
	a.inbox = a.inbox[1:]
	p := w.plans[o.Serial]
	switch {
	case how == "lose":
		a.spoilt = true
	case o.Do == OrderStop:
		a.stopped = o.On
		w.step(Stopped{name, o.On})
	case how == "refuse" || p.expired(w.nowNs) || p.Serial < a.has.Serial:
		a.spoilt = true
		w.step(Refusal{name, o.Serial, "no"})
	case how == "miscount":
		a.has, a.acked, a.spoilt = p, p, true
		w.step(Ack{name, p.Serial, p.Hash, p.Prefixes + 1})
	case how == "unheard": // the answer is lost
		a.has, a.spoilt = p, true
	default:
		a.has, a.acked = p, p
		if len(a.inbox) == 0 {
			a.spoilt = false
		}
		w.step(Ack{name, p.Serial, p.Hash, p.Prefixes})
	}
}

func (w *world) pass(d time.Duration) {
	w.nowNs += int64(d)
	for _, a := range w.agents {
		if a.idle += d; len(a.inbox) == 0 {
			a.idle = 0
		}
		a.spoilt = a.spoilt || a.idle >= w.r.rules.Limit
	}
	w.step(Tick{})
}

func (w *world) restart() {
	for _, a := range w.agents {
		a.spoilt = a.spoilt || len(a.inbox) > 0
		a.connected, a.inbox, a.acked = false, nil, Plan{}
	}
	w.writes = nil
	w.r = New("ams", []byte("key"), w.r.rules, revived(w.t, w.r.State))
	w.step(Restart{})
}
