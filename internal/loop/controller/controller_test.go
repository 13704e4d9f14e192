package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// store is a journal in memory. full makes every write fail.
type store struct {
	commits  []journal.Commit
	events   []journal.Event
	settings map[string][]byte
	full     bool
	onCommit func(*journal.Commit) // may be nil
}

var errFull = errors.New("store cannot grow")

func (s *store) CommitRound(ctx context.Context, c *journal.Commit) error {
	if s.full {
		return errFull
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.onCommit != nil {
		s.onCommit(c)
	}
	for _, old := range s.commits {
		if c.Closed && old.Closed && old.Start == c.Start {
			return fmt.Errorf("close window %d: %w", c.Start, journal.ErrExists)
		}
	}
	if c.Plan != nil {
		if _, taken, _ := s.Plan(context.Background(), c.Plan.Serial); taken {
			return errors.New("plan serial already in the store")
		}
	}
	s.commits = append(s.commits, *c)
	s.events = append(s.events, c.Events...)
	for k, v := range c.Settings {
		s.settings[k] = v
	}
	return nil
}

func (s *store) SetSetting(_ context.Context, k string, v []byte) error {
	if s.full {
		return errFull
	}
	s.settings[k] = v
	return nil
}

func (s *store) Setting(_ context.Context, k string) ([]byte, bool, error) {
	v, ok := s.settings[k]
	return v, ok, nil
}

func (s *store) LatestPlan(context.Context) (f journal.PlanFile, ok bool, err error) {
	for _, c := range s.commits {
		if c.Plan != nil {
			f, ok = *c.Plan, true
		}
	}
	return f, ok, nil
}

func (s *store) Plan(_ context.Context, serial record.PlanID) (journal.PlanFile, bool, error) {
	for _, c := range s.commits {
		if c.Plan != nil && c.Plan.Serial == serial {
			return *c.Plan, true, nil
		}
	}
	return journal.PlanFile{}, false, nil
}

func (s *store) Heads(_ context.Context, from, to int64) (h []journal.Head, err error) {
	for _, c := range s.commits {
		if c.Closed && c.Start >= from && c.Start < to {
			head := journal.Head{Start: c.Start, Rows: len(c.Rows)}
			if len(c.Notes) > 0 {
				head.Note = c.Notes[0].Reason
			}
			h = append(h, head)
		}
	}
	return h, nil
}

func (s *store) Windows(_ context.Context, from, to int64, row func(*record.Window) error) error {
	for _, c := range s.commits {
		for i := range c.Rows {
			if c.Rows[i].Start >= from && c.Rows[i].Start < to {
				if err := row(&c.Rows[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *store) Rounds(_ context.Context, n int) (r []journal.Round, err error) {
	for _, c := range slices.Backward(s.commits) {
		if c.Round != nil && len(r) < n {
			r = append(r, *c.Round)
		}
	}
	return r, nil
}

func (s *store) Events(_ context.Context, p record.Prefix, n int, kinds ...string) (e []journal.Event, err error) {
	for _, x := range slices.Backward(s.events) {
		if (p == 0 || x.Prefix == p) && (len(kinds) == 0 || slices.Contains(kinds, x.Kind)) && (n == 0 || len(e) < n) {
			e = append(e, x)
		}
	}
	return e, nil
}

// machine takes plans as an agent would and remembers what it was told.
type machine struct {
	plans   [][]byte
	killed  bool
	evicted int
	refuse  error
	noEvict error
	onKill  func(on bool) // may be nil
}

func (m *machine) SetPlan(b []byte) error {
	if m.refuse != nil {
		return m.refuse
	}
	m.plans = append(m.plans, b)
	return nil
}
func (m *machine) Kill(on bool) {
	m.killed = on
	if m.onKill != nil {
		m.onKill(on)
	}
}
func (m *machine) Evict(context.Context) (uint64, error) {
	if m.noEvict != nil {
		return 0, m.noEvict
	}
	m.evicted++
	return 1, nil
}

const t0 = int64(1_700_000_100) // a multiple of 300

// bench is a controller on a store and a machine, with a clock that the windows move.
type bench struct {
	*Controller
	t   *testing.T
	s   *store
	m   *machine
	now int64
	// untreated is what its windows say.
	untreated bool
}

// newBench runs the plain loop.
func newBench(t *testing.T, s *store, m *machine, now int64) *bench {
	t.Helper()
	return newBenchBy(t, s, m, now, policy.DefaultRules().ByLevel())
}

func newBenchBy(t *testing.T, s *store, m *machine, now int64, rules policy.Rules) *bench {
	t.Helper()
	b := &bench{t: t, s: s, m: m, now: now}
	var err error
	b.Controller, err = New(t.Context(), Options{
		PoP: "pop", Rules: rules, Treatment: "bbr", MinBytes: 100_000,
	}, s, slog.New(slog.NewTextHandler(io.Discard, nil)), func() time.Time { return time.Unix(b.now, 0) })
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Attach(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return b
}

// window is 25 prefixes, each with 10 eligible connections; the first five are slow.
func window(start int64) agent.ClosedWindow {
	o := agent.ClosedWindow{Start: start}
	for i := range 25 {
		p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{198, 18, byte(i), 1}))
		w := record.Window{Start: start, Prefix: p, Cong: "cubic", Control: true, Conns: 12, Eligible: 10, Bytes: 5_000_000,
			MinRTTUs: 30_000, SRTTUs: 50_000, RetransShare: 0.01, BusyShare: 0.9}
		for q := range w.RateBytesPerS {
			w.RateBytesPerS[q] = float64(1_000_000 + 10_000*i)
			if i < 5 {
				w.RateBytesPerS[q] = float64(200_000+1000*i) * (0.5 + 0.3*float64(q))
			}
		}
		o.Rows = append(o.Rows, w)
	}
	return o
}

func (b *bench) rounds(n int) {
	b.t.Helper()
	for range n {
		o := window(b.now)
		b.now += 300
		if err := b.Round(b.t.Context(), o); err != nil {
			b.t.Fatal(err)
		}
	}
}

func lastPlan(t *testing.T, m *machine) *plan.Plan {
	t.Helper()
	p, _, err := plan.Parse(m.plans[len(m.plans)-1])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fresh() *store { return &store{settings: map[string][]byte{}} }

func TestRoundsSelectTheSlowFifthAndForceIt(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(12)
	p := lastPlan(t, m)
	if len(p.Entries) != 5 || p.Entries[0].Prefix.String() != "198.18.0.0/24" || p.Entries[0].Cong != "bbr" {
		t.Fatalf("plan after 12 windows: %+v", p.Entries)
	}
	if err := plan.Verify(m.plans[len(m.plans)-1], b.PublicKey()); err != nil {
		t.Error(err)
	}
	last := s.commits[len(s.commits)-1]
	if last.Round.New != 5 || last.Plan == nil || len(last.Rows) != 25 || len(last.Events) < 5 {
		t.Errorf("commit: %+v, %d events", last.Round, len(last.Events))
	}
	for _, e := range last.Events[:5] {
		if e.Kind != "selected" || e.Text == "" || len(e.Evidence) < 100 {
			t.Errorf("event %+v", e)
		}
	}
}

func TestStableHistoryGivesAStablePlanThatDoesNotExpire(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(12)
	before, first := len(m.plans), lastPlan(t, m)
	b.rounds(24)
	after := lastPlan(t, m)
	if d := plan.Compare(first, after); len(d.Added)+len(d.Removed)+len(d.Changed) != 0 {
		t.Errorf("entries changed: %s", d.Text())
	}
	if after.Expired(b.now) {
		t.Error("the plan in force has expired under a living controller")
	}
	if n := len(m.plans) - before; n < 2 || n > 6 {
		t.Errorf("%d plans in 24 quiet rounds, want a renewal each half life (6 rounds)", n)
	}
}

func TestRestartRebuildsTheSameState(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(15)
	copied := &store{commits: slices.Clone(s.commits), events: slices.Clone(s.events), settings: maps.Clone(s.settings)}
	again := newBench(t, copied, &machine{}, b.now)
	if !slices.Equal(b.engine.Rows(), again.engine.Rows()) {
		t.Error("rows differ after the replay")
	}
	if len(again.m.plans) != 1 || !slices.Equal(again.m.plans[0], m.plans[len(m.plans)-1]) {
		t.Errorf("the last plan was not put in force at the start")
	}
	b.rounds(3)
	again.rounds(3)
	if a, c := lastPlan(t, m), lastPlan(t, again.m); plan.Compare(a, c).Text() != plan.Compare(a, a).Text() {
		t.Errorf("plans differ after the replay: %s", plan.Compare(a, c).Text())
	}
}

func TestFreezeHoldsThePlan(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	if err := b.Freeze(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	b.rounds(14)
	if p := lastPlan(t, m); len(p.Entries) != 0 {
		t.Fatalf("frozen, and yet selected: %+v", p.Entries)
	}
	again := newBench(t, s, &machine{}, b.now)
	if !again.frozen {
		t.Error("freeze did not survive a restart")
	}
	if err := again.Unfreeze(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	again.rounds(1)
	if p := lastPlan(t, again.m); len(p.Entries) != 5 {
		t.Errorf("after unfreeze: %+v", p.Entries)
	}
}

func TestAFullStoreForcesNothing(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(11)
	n := len(m.plans)
	s.full = true
	if err := b.Round(t.Context(), window(b.now)); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	if len(m.plans) != n {
		t.Error("a decision that was not kept took effect")
	}
}

func TestARefusedPlanIsToldAndTriedAgain(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(11)
	m.refuse = errors.New("kernel said no")
	o := window(b.now)
	b.now += 300
	if err := b.Round(t.Context(), o); err != nil {
		t.Fatal(err) // told as an event, once
	}
	if e := s.events[len(s.events)-1]; e.Kind != "plan-refused" || e.Text != "kernel said no" {
		t.Errorf("last event %+v", e)
	}
	again := newBench(t, s, &machine{}, b.now)
	if p := lastPlan(t, again.m); len(p.Entries) != 0 {
		t.Errorf("the refused plan came into force by a restart: %+v", p.Entries)
	}
	m.refuse = nil
	b.rounds(4)
	if p := lastPlan(t, m); len(p.Entries) != 5 {
		t.Errorf("after the refusal: %+v", p.Entries)
	}
}

func TestAPlanThatIsNoLongerAllowedDoesNotKeepUpFromStarting(t *testing.T) {
	s := fresh()
	b := newBench(t, s, &machine{}, t0)
	b.rounds(12)
	again := newBench(t, s, &machine{refuse: errors.New("denied now")}, b.now)
	if e := s.events[len(s.events)-1]; e.Kind != "plan-refused" {
		t.Errorf("last event %+v", e)
	}
	again.m.refuse = nil
	again.rounds(1)
	if p := lastPlan(t, again.m); len(p.Entries) != 5 {
		t.Errorf("the next round: %+v", p.Entries)
	}
}

// TestStatusForeseesTheFirstDecision: the policy needs 12 known windows, and the round in
// which it has them is the one that was told.
func TestStatusForeseesTheFirstDecision(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	live := &View{Controller: b.Controller, Agent: func() agent.Status { return agent.Status{} }}
	see := func() control.Status {
		st, err := live.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	told := see()
	if told.ToDecide != 12 || told.MinRanked != 20 || told.Treatment != "bbr" {
		t.Errorf("before the first round: %+v", told)
	}
	for n := 12; n > 0; n-- {
		if st := see(); st.ToDecide != n || st.DecideUnixS != told.DecideUnixS {
			t.Errorf("%d windows to go: %d, at %d instead of %d", n, st.ToDecide, st.DecideUnixS, told.DecideUnixS)
		}
		b.rounds(1)
	}
	if st := see(); st.ToDecide != 0 || st.DecideUnixS != 0 || st.Ranked != 25 || st.RoundUnixS != told.DecideUnixS {
		t.Errorf("then: %+v, wanted the round of %d", st, told.DecideUnixS)
	}
}

func TestViewsOfARunningAndOfAStoredLoopAgree(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(14)
	live := &View{Controller: b.Controller, Agent: func() agent.Status { return agent.Status{} }}
	stored, err := Stored(t.Context(), s, b.opt, "test", b.Controller.now)
	if err != nil {
		t.Fatal(err)
	}
	a, err1 := live.Prefixes(t.Context(), control.PrefixesRequest{})
	c, err2 := stored.Prefixes(t.Context(), control.PrefixesRequest{})
	if err := cmp.Or(err1, err2); err != nil || !slices.Equal(a, c) || len(a) != 25 {
		t.Fatalf("%v: %d and %d rows", err, len(a), len(c))
	}
	if a[0].Treatment != "bbr" || a[0].Arm == record.ArmNone || a[24].Treatment != "" {
		t.Errorf("first %+v, last %+v", a[0], a[24])
	}
	only, _ := live.Prefixes(t.Context(), control.PrefixesRequest{Selected: true})
	if len(only) != 5 {
		t.Errorf("%d selected", len(only))
	}
	rest, _ := live.Prefixes(t.Context(), control.PrefixesRequest{States: []policy.State{policy.StateUntreated}, Sort: policy.ByAddress, Limit: 19})
	if len(rest) != 19 || !slices.IsSortedFunc(rest, func(a, b control.PrefixRow) int { return cmp.Compare(a.Prefix, b.Prefix) }) || rest[0].Treatment != "" {
		t.Errorf("%d untreated by address: %+v", len(rest), rest)
	}
	x, err1 := live.Explain(t.Context(), a[0].Prefix)
	y, err2 := stored.Explain(t.Context(), a[0].Prefix)
	if err1 != nil || err2 != nil || x.Text() != y.Text() {
		t.Errorf("explanations differ:\n%s\n%s", x.Text(), y.Text())
	}
	var e *control.Error
	if _, err := stored.Explain(t.Context(), 0x18); !errors.As(err, &e) || e.Code != control.NotFound {
		t.Errorf("unknown prefix: %v", err)
	}
	if st, err := stored.Status(t.Context()); err != nil || st.Running || st.Plan == 0 || st.RoundUnixS != b.now {
		t.Errorf("status %+v, %v", st, err)
	}
}

// After the wall clock was set back the store refuses windows that it has closed;
// decisions go on, and the first new window is kept again.
func TestWindowsThatComeAgainDoNotStopTheLoop(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(12)
	commits, plans := len(s.commits), len(m.plans)
	b.now = t0 + 300*3
	b.rounds(9)
	again := 0
	for _, e := range s.events {
		if e.Kind == "window-again" {
			again++
		}
	}
	if again != 9 {
		t.Errorf("%d events of windows that came again, want 9: %+v", again, s.events)
	}
	for _, c := range s.commits[commits:] {
		if c.Closed || c.Round != nil || len(c.Rows) > 0 {
			t.Errorf("kept a second time: %+v", c)
		}
	}
	// The plan that the wrong time made is renewed by the right one.
	if p := lastPlan(t, m); len(m.plans) == plans || p.Created > b.now || len(p.Entries) != 5 {
		t.Errorf("%d plans more, the last created %d, with %d entries", len(m.plans)-plans, p.Created-b.now, len(p.Entries))
	}
	commits = len(s.commits)
	b.rounds(1)
	if c := s.commits[commits]; !c.Closed || len(c.Rows) != 25 || c.Round == nil {
		t.Errorf("the first new window: %+v", c)
	}
}

// TestDefaultIsNotTreated: where every namespace runs the treatment, nothing is treated.
func TestDefaultIsNotTreated(t *testing.T) {
	b := newBench(t, fresh(), &machine{}, t0)
	b.rounds(12)
	for _, c := range []struct {
		congs   []string
		treated bool
	}{{[]string{"bbr", "cubic"}, true}, {nil, true}, {[]string{"bbr", "bbr"}, false}} {
		o := window(b.now)
		o.DefaultCongs = c.congs
		b.now += 300
		if err := b.Round(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if p := lastPlan(t, b.m); len(p.Entries) > 0 != c.treated {
			t.Errorf("defaults %q: %d entries", c.congs, len(p.Entries))
		}
	}
}
