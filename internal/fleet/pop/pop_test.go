package pop

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

const w = 300 // seconds of a window

// paper is an inbox in memory, and the controller and its store.
type paper struct {
	mu     sync.Mutex // guards all below
	ends   map[int64][]End
	conns  map[int64][]string // hosts, a record each
	closed []int64

	rounds   []agent.ClosedWindow
	told     []string
	plans    map[record.PlanID][]byte
	rewrites []record.PlanID
	kept     []byte
	fault    error // of the inbox
	washout  int64 // seconds, of the plans
	asked    int   // Oldest
}

func (f *paper) Oldest() (start int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	for s := range f.conns {
		if start == 0 || s < start {
			start = s
		}
	}
	return start, f.fault
}
func (f *paper) Ends(start int64) ([]End, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ends[start], nil
}
func (f *paper) Conns(start int64, row func(string, *record.Conn)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, host := range f.conns[start] {
		p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{203, 0, byte(113 + i), 1}))
		row(host, &record.Conn{Window: start, Prefix: p, Passive: true, ClientFacing: true, Cong: "cubic", DefaultCong: true,
			WinBytesAcked: 1 << 20, RateBytesPerS: 1e6, RateSource: record.RateMean})
	}
	return nil
}
func (f *paper) Close(start int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = append(f.closed, start)
	delete(f.ends, start)
	delete(f.conns, start)
	return nil
}
func (f *paper) Round(_ context.Context, c agent.ClosedWindow) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rounds = append(f.rounds, c)
	return nil
}
func (f *paper) Tell(_ context.Context, kind, text string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, kind+": "+text)
	return nil
}
func (f *paper) Signed(_ context.Context, serial record.PlanID) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.plans[serial], nil
}
func (f *paper) Rewrite(_ context.Context, serial record.PlanID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rewrites = append(f.rewrites, serial)
	return nil
}
func (f *paper) Remember(_ context.Context, _ string, value []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = value
	return nil
}

func (f *paper) send(start int64, host string, e End) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.Host = host
	f.conns[start] = append(f.conns[start], host)
	f.ends[start] = append(f.ends[start], e)
}

// plan signs a plan with so many networks.
func (f *paper) plan(serial record.PlanID, networks int) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now().Unix()
	p := &plan.Plan{PoP: "chi", Serial: serial, Created: now, Expires: now + 3600, Treatment: "bbr", MinBytes: 1e5, BlockSeconds: 1800, WashoutSeconds: cmp.Or(f.washout, 300),
		Experiment: plan.ExperimentOff, GroupTrial: plan.DefaultGroupTrial, GroupPromoted: 8, Salt: make([]byte, 16), CapRule: plan.CapRuleNone}
	for i := range networks {
		prefix, _ := record.PrefixOf(netip.AddrFrom4([4]byte{203, 0, byte(i), 1}))
		p.Entries = append(p.Entries, plan.Entry{Prefix: prefix, Cong: "bbr", State: plan.StateAlways, Since: 946684800, Reason: "listed"})
	}
	f.plans[serial] = p.Sign(ed25519.NewKeyFromSeed(make([]byte, 32)))
	return f.plans[serial]
}

func (f *paper) decided() []agent.ClosedWindow {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rounds)
}

func (f *paper) questions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *paper) events() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.told)
}

// sendPart is of a host that does not say that it was all.
func (f *paper) sendPart(start int64, host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[start] = append(f.conns[start], host)
}

func newPaper() *paper {
	return &paper{ends: map[int64][]End{}, conns: map[int64][]string{}, plans: map[record.PlanID][]byte{}}
}

func start(t *testing.T, f *paper, was Past) *PoP {
	t.Helper()
	p, err := New(Options{Name: "chi", Key: []byte("key"), Lateness: 30 * time.Second, Window: w * time.Second, Block: 1800 * time.Second,
		Washout: w * time.Second, MinBytes: 1e5, MaxPrefixes: 100}, f, f, f, was, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	go p.Run(t.Context())
	return p
}

// join connects a host that acknowledges plans by what obey makes of an order.
func join(t *testing.T, p *PoP, name string, obey func(Order) Report) (leave func()) {
	return joinAt(t, p, name, "full", Takes{Keys: []string{"key-of-" + name}}, obey)
}

func joinAt(t *testing.T, p *PoP, name, tier string, takes Takes, obey func(Order) Report) (leave func()) {
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_ = p.Follow(ctx, rollout.Connect{Host: name, Boot: "b", Version: "v", Tier: tier}, takes, func(o Order) error {
			if r := obey(o); r != (Report{}) {
				p.Report(ctx, name, r)
			}
			return nil
		})
	}()
	synctest.Wait()
	return stop
}

// accept is a host that takes every plan.
func accept(o Order) Report {
	if o.Plan == nil {
		return Report{Stopped: o.Stopped}
	}
	p, _, err := plan.Parse(o.Plan)
	if err != nil {
		return Report{Refusal: err.Error()}
	}
	return Report{Plan: p.Serial, Hash: p.Hash(), InForce: len(p.Entries), Stopped: o.Stopped}
}

// pass lets time pass, and then all that it caused happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func present() int64 { now := time.Now().Unix(); return now - now%w }

// TestWindows: a window closes at once when every host has sent it, else after the lateness,
// without the host that did not.
func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		first := present()
		p := start(t, f, Past{})
		for _, name := range []string{"a", "b"} {
			join(t, p, name, accept)
		}
		pass(time.Unix(first+w, 0).Sub(time.Now()) + 2*time.Second)
		f.send(first, "a", End{Congs: []string{"cubic"}})
		p.Came()
		synctest.Wait()
		if len(f.decided()) != 0 {
			t.Fatal("closed with one of two hosts")
		}
		f.send(first, "b", End{Congs: []string{"bbr"}})
		p.Came()
		synctest.Wait()
		if len(f.decided()) != 1 || f.decided()[0].Start != first || len(f.decided()[0].Rows) != 2 || !slices.Equal(f.decided()[0].DefaultCongs, []string{"bbr", "cubic"}) {
			t.Fatalf("with both: %+v", f.decided())
		}
		second := first + w
		f.send(second, "a", End{Starved: "steal"})
		f.sendPart(second, "b")
		pass(w * time.Second)
		if len(f.decided()) != 1 {
			t.Fatal("closed before the lateness was over")
		}
		pass(30 * time.Second)
		if len(f.decided()) != 2 || len(f.decided()[1].Rows) != 1 || f.decided()[1].Starved != "a: steal" {
			t.Fatalf("without b: %+v", f.decided())
		}
		third := second + w
		f.send(third, "a", End{Unknown: "clock"})
		f.send(third, "b", End{})
		pass(w * time.Second)
		if c := f.decided()[2]; c.Unknown != "" || len(c.Rows) != 1 {
			t.Errorf("one host that does not trust its window: %+v", c)
		}
		pass(w * time.Second) // the fourth: nothing comes
		if c := f.decided()[3]; c.Unknown != "no host sent all of it" {
			t.Errorf("nothing came: %+v", c)
		}
	})
}

// TestNotYet: while a window runs, the inbox is not asked for it.
func TestNotYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		start(t, f, Past{Next: present()})
		pass(time.Unix(present()+w, 0).Sub(time.Now()) - time.Second)
		if n := f.questions(); n != 0 {
			t.Errorf("asked %d times", n)
		}
		if pass(2 * time.Second); f.questions() == 0 {
			t.Error("not asked at its end")
		}
	})
}

// TestReturn: a controller that was down waits for the hosts that were there, and decides the
// windows of its absence one after the other.
func TestReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		p := start(t, f, Past{})
		join(t, p, "a", accept)
		if err := p.SetPlan(f.plan(1, 2)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		last := present()
		pass(4 * w * time.Second)
		f.mu.Lock()
		kept := f.kept
		f.mu.Unlock()
		g := newPaper()
		g.plans = maps.Clone(f.plans)
		q := start(t, g, Past{Next: last + w, Rollout: kept})
		pass(5 * time.Second)
		if len(g.decided()) != 0 {
			t.Fatal("decided before the hosts were back")
		}
		join(t, q, "a", accept)
		for _, back := range []int64{1, 2, 3} {
			g.send(last+back*w, "a", End{})
		}
		q.Came()
		synctest.Wait()
		var got []int64
		for _, c := range g.decided() {
			got = append(got, (c.Start-last)/w)
		}
		if !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("decided windows %d of the absence", got)
		}
	})
}

// TestRollout: a plan reaches the hosts in stages, one that refuses it brings the old content back,
// and the kill switch reaches who comes later.
func TestRollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		p := start(t, f, Past{})
		var refuse record.PlanID
		var mu sync.Mutex
		stopped := map[string]bool{}
		host := func(name string) func(Order) Report {
			return func(o Order) Report {
				mu.Lock()
				defer mu.Unlock()
				stopped[name] = o.Stopped
				r := accept(o)
				if r.Plan == refuse && refuse != 0 {
					return Report{Plan: r.Plan, Refusal: "no"}
				}
				return r
			}
		}
		for i := range 5 {
			join(t, p, fmt.Sprint("edge-", i), host(fmt.Sprint("edge-", i)))
		}
		set := func(serial record.PlanID, n int) {
			t.Helper()
			if err := p.SetPlan(f.plan(serial, n)); err != nil {
				t.Fatal(err)
			}
			pass(5 * time.Second)
		}
		set(1, 2)
		for name, h := range p.Hosts().Hosts {
			if h.Serial != 1 || h.Prefixes != 2 {
				t.Errorf("%s has plan %d with %d prefixes", name, h.Serial, h.Prefixes)
			}
		}
		refuse = 2
		set(2, 3)
		s := p.Hosts()
		if s.Base.Serial != 1 || !slices.ContainsFunc(f.events(), func(text string) bool { return strings.Contains(text, "no") }) {
			t.Errorf("after a refusal: base is plan %d; told %q", s.Base.Serial, f.events())
		}
		p.Kill(true)
		synctest.Wait()
		join(t, p, "late", host("late"))
		for _, name := range []string{"edge-0", "edge-4", "late"} {
			if !stopped[name] {
				t.Errorf("%s is not stopped", name)
			}
		}
		moved := make(chan uint64, 1)
		go func() {
			n, err := p.Evict(t.Context())
			if err == nil || n != 0 { // these hosts do not answer to it
				t.Errorf("evict: %d, %v", n, err)
			}
			moved <- n
		}()
		<-moved
	})
}

// TestLongPlan: a host whose plan.max a plan exceeds never gets it, which is its refusal; the stop reaches it.
func TestLongPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		p := start(t, f, Past{})
		var last Order
		joinAt(t, p, "small", "full", Takes{PlanBytes: 1000}, func(o Order) Report { last = o; return accept(o) })
		if err := p.SetPlan(f.plan(1, 20)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		p.Kill(true)
		synctest.Wait()
		if told := strings.Join(f.told, "\n"); last.Plan != nil || !last.Stopped || !strings.Contains(told, "plan.max") {
			t.Errorf("last order: stopped %t, a plan of %d bytes; the store was told %q", last.Stopped, len(last.Plan), told)
		}
	})
}

// TestSlowReader: a host that never reads its orders holds up no other host, no window and no kill switch; and
// connected anew it takes the place of itself.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		first := present()
		p := start(t, f, Past{})
		stuck, ended := make(chan struct{}), make(chan struct{}, 100)
		for range 100 {
			go func() {
				_ = p.Follow(t.Context(), rollout.Connect{Host: "slow", Boot: "b"}, Takes{}, func(Order) error { <-stuck; return errors.New("closed") })
				ended <- struct{}{}
			}()
			synctest.Wait()
		}
		got := make(chan Order, 100)
		join(t, p, "good", func(o Order) Report { got <- o; return accept(o) })
		p.Kill(true)
		synctest.Wait()
		p.Kill(false)
		if err := p.SetPlan(f.plan(1, 2)); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute) // the roll-out may wait a minute for it, as canary
		f.send(first, "good", End{})
		pass(time.Unix(first+w, 0).Add(31 * time.Second).Sub(time.Now()))
		if len(f.decided()) == 0 || len(f.decided()[0].Rows) != 1 {
			t.Errorf("windows wait: %+v", f.decided())
		}
		stopped := false
		for len(got) > 0 {
			o := <-got
			stopped = stopped || o.Stopped
		}
		if !stopped {
			t.Error("the kill switch did not reach the other host")
		}
		if n := len(p.Hosts().Hosts); n != 2 {
			t.Errorf("%d hosts", n)
		}
		close(stuck)
		pass(time.Second)
		if len(ended) != 100 {
			t.Errorf("%d of 100 streams ended", len(ended))
		}
	})
}

// TestAway: an inbox that cannot be read ends nothing, and its windows are decided afterwards.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPaper()
		first := present()
		p := start(t, f, Past{})
		join(t, p, "a", accept)
		f.mu.Lock()
		f.fault = errors.New("away")
		f.mu.Unlock()
		f.send(first, "a", End{})
		f.send(first+w, "a", End{})
		pass(2*w*time.Second + 10*time.Second)
		if n := len(f.decided()); n != 0 {
			t.Fatalf("%d windows decided", n)
		}
		f.mu.Lock()
		f.fault = nil
		f.mu.Unlock()
		pass(10 * time.Second)
		if d := f.decided(); len(d) != 2 || d[0].Start != first || d[1].Start != first+w {
			t.Errorf("decided %+v", d)
		}
	})
}
