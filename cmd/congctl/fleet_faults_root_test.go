package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Each fault of docs/fleet.md's table that needs a controller, an agent and a kernel; records are counted before and after.

// alwaysOf is a list of networks that are always treated.
func alwaysOf(t testing.TB, numbers ...int) string {
	var all []string
	for _, n := range numbers {
		all = append(all, prefixOf(t, client(n, 7)).String()+" listed")
	}
	return fmt.Sprintf(`, always: [%s], control: "off"`, strings.Join(all, ", "))
}

// puppet is an agent without a kernel, which answers its orders when it is told to.
type puppet struct {
	c    *link.Client
	name string

	mu      sync.Mutex // guards all below
	silent  bool
	version string
	plans   []record.PlanID // that it was sent
	last    []byte
}

// puppet makes one that follows until the test ends.
func (f *fleet) puppet(name string) *puppet {
	f.t.Helper()
	creds, err := mtls.Open(f.authority.Issue(mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: name}), func(error) {})
	check(f.t, err)
	p := &puppet{c: link.NewClient([]string{f.url}, creds.Dial, patience, plan.MaxFileBytes), name: name, version: "puppet"}
	ctx, stop := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	f.t.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = p.c.Follow(ctx, link.Have{Boot: record.BootID{9}, Version: p.version}, func(o link.Order) { p.take(ctx, o) })
			time.Sleep(100 * time.Millisecond)
		}
	}()
	return p
}

func (p *puppet) take(ctx context.Context, o link.Order) {
	p.mu.Lock()
	if o.Plan != nil {
		p.last = o.Plan
		if f, _, err := plan.Parse(o.Plan); err == nil {
			p.plans = append(p.plans, f.Serial)
		}
	}
	silent, last := p.silent, p.last
	p.mu.Unlock()
	if !silent {
		_ = p.c.Report(ctx, ackOf(last, o.Stopped))
	}
}

func ackOf(text []byte, stopped bool) link.Report {
	r := link.Report{Boot: record.BootID{9}, Stopped: stopped}
	if p, _, err := plan.Parse(text); err == nil {
		r.Plan, r.Hash, r.InForce = p.Serial, p.Hash(), len(p.Entries)
	}
	return r
}

func (p *puppet) quiet(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = on
}

// sent is the last plan that came.
func (p *puppet) sent() record.PlanID {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.plans) == 0 {
		return 0
	}
	return p.plans[len(p.plans)-1]
}

// TestControllerKilledMidRollout: it dies while a plan has reached some of its hosts, and goes on from there.
func TestControllerKilledMidRollout(t *testing.T) {
	cfg := settingsOf(fleetWindow)
	central := cfg
	central.Lists = alwaysOf(t, 0)
	f := newFleetOf(t, central, "")
	ann, host, other, s := f.operator(mtls.Operator), f.agent("edge-1", cfg), f.puppet("edge-2"), newServer(t)
	host.start()
	host.awaitStatus("the first plan in force", inForce(1))
	beginWindow(fleetWindow)
	for range 3 {
		s.visit(t, client(0, 7), "bbr")
	}
	eventually(t, "three records before", patience, func() bool { return f.conns(prefixOf(t, client(0, 7))) == 3 })
	eventually(t, "the first plan settled", patience, func() bool { st := ann.fleetStatus(); return st.Plan > 0 && st.Stage == "" })
	other.quiet(true)
	f.stop()
	f.cfg.Lists = alwaysOf(t, 0, 1)
	f.writeConfig()
	f.launchUntil()
	var at FleetStatus
	eventually(t, "another plan that waits for the silent host", patience, func() bool {
		sent := other.sent() // read first: once the silent host has the plan, the stage does not move
		at = ann.fleetStatus()
		return at.Next > at.Plan && at.Next == sent
	})
	f.kill()
	f.launchUntil()
	if after := ann.fleetStatus(); after.Stage != at.Stage || after.Next != at.Next || after.Plan != at.Plan {
		t.Errorf("before its death plan %d at %s over %d, after it plan %d at %q over %d", at.Next, at.Stage, at.Plan, after.Next, after.Stage, after.Plan)
	}
	other.quiet(false)
	eventually(t, "the plan settled", patience, func() bool {
		st := ann.fleetStatus()
		return st.Stage == "" && st.Plan >= at.Next && len(st.Hosts) == 2 && st.Hosts[0].InForce == 2 && st.Hosts[1].InForce == 2
	})
	beginWindow(fleetWindow)
	for range 3 {
		s.visit(t, client(0, 7), "bbr")
	}
	s.visit(t, client(1, 7), "bbr")
	eventually(t, "three more after, each once", patience, func() bool { return f.conns(prefixOf(t, client(0, 7))) == 6 })
	other.mu.Lock()
	defer other.mu.Unlock()
	if !slices.IsSorted(other.plans) {
		t.Errorf("plans went to a host in the order %d", other.plans)
	}
	host.stop()
	f.stop()
}

// TestAgentKilledMidApply: kill -9 at ten moments between a start and a plan in force. Its file is whole or
// absent, the next start goes on, and where none comes treatment ends by itself.
func TestAgentKilledMidApply(t *testing.T) {
	cfg := settingsOf(fleetWindow)
	central := cfg
	central.Lists = alwaysOf(t, 0, 1, 2)
	f := newFleetOf(t, central, "")
	host, s := f.agent("edge-1", cfg), newServer(t)
	began := time.Now()
	host.start()
	host.awaitStatus("the plan in force", inForce(3))
	took := time.Since(began)
	beginWindow(fleetWindow)
	s.visit(t, client(0, 7), "bbr")
	eventually(t, "one record before", patience, func() bool { return f.conns(prefixOf(t, client(0, 7))) == 1 })
	file := filepath.Join(host.dir, "state", "plan")
	whole := 0
	for i := range 10 {
		host.kill()
		if i%2 == 0 {
			check(t, os.Remove(file)) // the order comes again, to a kernel that may have half of it
		}
		host.launch()
		time.Sleep(took/8 + rand.N(took/2))
		host.kill()
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			check(t, os.WriteFile(file, nil, 0o600)) // as a disk leaves it that lost the content
			continue
		}
		check(t, err)
		if len(text) == 0 {
			continue // the one of before
		}
		p, _, err := plan.Parse(text)
		if err != nil || len(p.Entries) != 3 {
			t.Fatalf("kill %d left a plan of %d bytes: %v", i, len(text), err)
		}
		whole++
		host.launch()
	}
	t.Logf("after 10 kills within %s of a start: %d whole plans", took, whole)
	host.kill()
	host.start()
	host.awaitStatus("the plan in force again", inForce(3))
	beginWindow(fleetWindow)
	s.visit(t, client(0, 7), "bbr")
	eventually(t, "two records after", patience, func() bool { return f.conns(prefixOf(t, client(0, 7))) == 2 })
	host.kill()
	expires(t, s, 0)
	f.stop()
}

// expires waits until a network is no longer treated: nothing renews it in the kernel.
func expires(t *testing.T, s *server, network int) {
	t.Helper()
	eventually(t, "treatment that has expired", patience, func() bool { return s.transfer(client(network, 7), large) == "cubic" })
}

// cable is a proxy between an agent and its controller that can be cut: then it takes bytes and delivers none.
type cable struct {
	l  net.Listener
	to string

	mu    sync.Mutex // guards all below
	cut   bool
	conns []net.Conn
}

func newCable(t testing.TB, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	w := &cable{l: l, to: to}
	t.Cleanup(func() { _ = l.Close(); w.heal() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if far, err := net.Dial("tcp", to); err == nil {
				w.keep(c, far)
				go w.pump(c, far)
				go w.pump(far, c)
			}
		}
	}()
	return w
}

func (w *cable) keep(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, conns...)
}

func (w *cable) pump(to, from net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		w.mu.Lock()
		dropped := w.cut
		w.mu.Unlock()
		if err != nil && !dropped {
			_ = to.Close()
		}
		if err != nil {
			return
		}
		if !dropped {
			_, _ = to.Write(b[:n])
		}
	}
}

func (w *cable) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
}

// heal ends what lost bytes, as TCP does when it is told.
func (w *cable) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.cut, w.conns = false, nil
}

// TestNetworkCut: between an agent and its controller nothing passes for seconds. The agent treats on, and each
// record is counted once, those too that were on the way.
func TestNetworkCut(t *testing.T) {
	cfg := settingsOf(12 * time.Second)
	central := cfg
	central.Lists = alwaysOf(t, 0)
	f := newFleetOf(t, central, "")
	w := newCable(t, strings.TrimPrefix(f.url, "https://"))
	f.url = "https://" + w.l.Addr().String()
	host, s := f.agent("edge-1", cfg), newServer(t)
	host.start()
	host.awaitStatus("the plan in force", inForce(1))
	counted := func() int { return f.conns(prefixOf(t, client(0, 7))) }
	beginWindow(12 * time.Second)
	for range 2 {
		s.visit(t, client(0, 7), "bbr")
	}
	eventually(t, "two records, and a window that has just begun", patience, func() bool { return counted() == 2 })
	w.drop()
	for range 4 {
		s.visit(t, client(0, 7), "bbr")
		time.Sleep(1200 * time.Millisecond)
	}
	before := counted()
	w.heal()
	s.visit(t, client(0, 7), "bbr")
	eventually(t, "all seven", patience, func() bool { return counted() >= 7 })
	s.visit(t, client(0, 7), "bbr")
	eventually(t, "an eighth", patience, func() bool { return counted() >= 8 })
	if n := counted(); n != 8 || before != 2 {
		t.Errorf("%d records while the network was cut, want 2; %d afterwards, want 8", before, n)
	}
	host.stop()
	f.stop()
}
