package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/tcp/record"
)

// sharedPoP is PoP chi with two controllers, on a real Kafka and ClickHouse, and one host.
type sharedPoP struct {
	t         *testing.T
	pipe      *pipeline
	one, two  *fleet
	host, ann *edge
	server    *server
	treated   netip.Addr
	visits    int
}

func newSharedPoP(t *testing.T) *sharedPoP {
	p := newPipeline(t)
	s := &sharedPoP{t: t, pipe: p, treated: client(0, 7)}
	cfg := settingsOf(pipelineWindow)
	p.cfg.BatchWait = 200 * time.Millisecond
	central := cfg
	central.Lists = fmt.Sprintf(`, always: [%s satellite link], control: "off"`, prefixOf(t, s.treated))
	more := fmt.Sprintf(", clickhouse: %q, kafka: %q", p.cfg.ClickHouse, p.cfg.Kafka)
	authority := mtlstest.New(t)
	s.one, s.two = controllerOf(t, authority, "one", central, more), controllerOf(t, authority, "two", central, more)
	p.start()
	both := *s.one
	both.url, both.key = s.one.url+", "+s.two.url, s.one.key+", "+s.two.key
	both.agentsMore = fmt.Sprintf(", kafka: %q", p.cfg.Kafka)
	s.host, s.ann = both.agent("edge-1", cfg), both.operator(mtls.Operator)
	s.host.start()
	s.server = newServer(t)
	eventually(t, "the plan in force", wholeTime, func() bool { // Kafka makes its internal topics first
		st, err := s.host.status()
		return err == nil && inForce(1)(st)
	})
	return s
}

// visit makes three transfers, treated, and waits until the one that decides has all so far, each once.
func (s *sharedPoP) visit(of *fleet) {
	s.t.Helper()
	beginWindow(pipelineWindow)
	for range 3 {
		s.server.visit(s.t, s.treated, "bbr")
	}
	s.visits += 3
	eventually(s.t, fmt.Sprintf("%d transfers in the store of the one that decides", s.visits), wholeTime, func() bool { return of.conns(prefixOf(s.t, s.treated)) == s.visits })
}

// connected waits for the host at the controller that verbs find.
func (s *sharedPoP) connected() {
	s.t.Helper()
	eventually(s.t, "the agent at the controller that decides", wholeTime, func() bool {
		out, _, code := s.ann.verb("fleet", "status", "--pop", "chi", "-o", "json")
		var st FleetStatus
		return code == 0 && json.Unmarshal([]byte(out), &st) == nil && len(st.Hosts) == 1 && st.Hosts[0].Connected && st.Hosts[0].InForce == 1
	})
}

// TestTakeOver: two controllers share PoP chi through a real Kafka. The one that decides is killed, later the other is
// stopped for longer than the group waits, and goes on as a zombie. Each time the other one decides every window, the
// agent's treatment goes on, and in the end no serial is two plans and each transfer counts once.
func TestTakeOver(t *testing.T) {
	s := newSharedPoP(t)
	owner, other := s.one, s.two
	if other.took() > 0 {
		owner, other = other, owner
	}
	s.visit(owner)
	s.ann.must("plan", "key", "--next", "--pop", "chi")

	owner.kill()
	was := s.host.planInForce()
	eventually(t, "the other takes over", wholeTime, func() bool { return other.took() == 1 })
	s.visit(other)
	eventually(t, "a later plan, of the other", wholeTime, func() bool { return s.host.planInForce() > was })
	s.visit(other)

	owner.launchUntil()
	eventually(t, "an answer that names the controller that decides", wholeTime, func() bool {
		_, errs, code := s.ann.verb("fleet", "status", "--pop", "chi", "--controller", owner.url)
		return code != 0 && strings.Contains(errs, "is not decided here, but by controller")
	})
	s.connected()

	other.pause()
	eventually(t, "the first takes the PoP of one that is stopped", wholeTime, func() bool { return owner.took() == 1 })
	s.visit(owner)
	other.signal(syscall.SIGCONT)
	eventually(t, "the zombie gives up", wholeTime, func() bool {
		return other.logHas("is not decided here any more") || other.logHas("given up")
	})
	s.visit(owner)
	s.connected()
	s.host.stop()
	owner.stop()
	other.stop()
	agree(t, s.one.kept(), s.two.kept())
	if t.Failed() || testing.Verbose() {
		t.Logf("log of one:\n%s\nlog of two:\n%s", tail(owner.log.String(), 60), tail(other.log.String(), 60))
	}
}

// took counts how often a controller, since its start, took the PoP.
func (f *fleet) took() int { return strings.Count(f.log.String(), "from now on: generation") }

func (e *edge) planInForce() (serial record.PlanID) {
	e.t.Helper()
	e.awaitStatus("a plan", func(s control.Status) bool { serial = s.Plan; return serial > 0 })
	return serial
}

// kept is what a controller's store has of its PoP.
type kept struct {
	plans map[record.PlanID]string
	heads []journal.Head
	rows  map[int64][]record.Window
	next  string // signing key
}

func (f *fleet) kept() kept {
	f.t.Helper()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, f.dir+"/state/pops/chi/congctl.db", sqlite.Options{ReadOnly: true})
	check(f.t, err)
	defer s.Close()
	k := kept{plans: map[record.PlanID]string{}, rows: map[int64][]record.Window{}}
	last, _, err := s.LatestPlan(ctx)
	check(f.t, err)
	for serial := record.PlanID(1); serial <= last.Serial; serial++ {
		if p, ok, err := s.Plan(ctx, serial); err != nil || !ok {
			f.t.Errorf("plan %d of %d: %v", serial, last.Serial, err)
		} else {
			k.plans[serial] = string(p.Text)
		}
	}
	next, _, err := s.Setting(ctx, journal.SettingNextKey)
	check(f.t, err)
	k.next = string(next)
	k.heads, err = s.Heads(ctx, 0, math.MaxInt64)
	check(f.t, err)
	check(f.t, s.Windows(ctx, 0, math.MaxInt64, func(w *record.Window) error {
		k.rows[w.Start] = append(k.rows[w.Start], *w)
		return nil
	}))
	return k
}

// agree compares two stores of a PoP: one may lack what came last.
func agree(t *testing.T, a, b kept) {
	t.Helper()
	if (a.next == "") == (b.next == "") {
		t.Error("the next signing key is not at the one controller that made it alone")
	}
	if len(a.heads) < len(b.heads) {
		a, b = b, a
	}
	t.Logf("%d and %d windows, %d and %d plans", len(a.heads), len(b.heads), len(a.plans), len(b.plans))
	for serial, text := range b.plans {
		if a.plans[serial] != text {
			t.Errorf("serial %d is two plans:\n%s\n%s", serial, a.plans[serial], text)
		}
	}
	for i, h := range b.heads {
		if a.heads[i] != h {
			t.Errorf("window %d: %+v and %+v", i, a.heads[i], h)
		}
		if d := cmp.Diff(a.rows[h.Start], b.rows[h.Start]); d != "" {
			t.Errorf("window %d: %s", i, d)
		}
	}
	// Until the host has sent its first window, a controller decides late and without a host, and may skip a window.
	all := a.heads[max(0, slices.IndexFunc(a.heads, func(h journal.Head) bool { return h.Note == "" })):]
	for i := range all[1:] {
		if step := all[i+1].Start - all[i].Start; step != int64(pipelineWindow.Seconds()) {
			t.Errorf("%d s between windows %d and %d of those from the first known one on", step, i, i+1)
		}
	}
}
