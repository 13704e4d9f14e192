package controller

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
)

// life kills a process at some of its steps: before or after a write to the store, an
// order to the host or a line of the log. What lies between two steps changes nothing
// outside the process, so a kill -9 at any other moment is one of these.
type life struct {
	steps int
	kills []int // rising
}

type killedNow struct{}

func (l *life) step() {
	if l.steps++; len(l.kills) > 0 && l.steps == l.kills[0] {
		l.kills = l.kills[1:]
		panic(killedNow{})
	}
}

// Write is a line of the log.
func (l *life) Write(b []byte) (int, error) { l.step(); return len(b), nil }

// ends reports whether do was killed.
func (l *life) ends(do func()) (killed bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, killed = r.(killedNow); !killed {
				panic(r)
			}
		}
	}()
	do()
	return false
}

type mortalStore struct {
	*store
	*life
}

func (s mortalStore) CommitRound(ctx context.Context, c *journal.Commit) error {
	s.step()
	defer s.step()
	return s.store.CommitRound(ctx, c)
}

func (s mortalStore) SetSetting(ctx context.Context, k string, v []byte) error {
	s.step()
	defer s.step()
	return s.store.SetSetting(ctx, k, v)
}

// mortalHost refuses some plans for what they are, so a second process is told the same.
type mortalHost struct {
	machine
	*life
	inForce *plan.Plan
}

func (h *mortalHost) SetPlan(signed []byte) error {
	h.step()
	defer h.step()
	p, _, err := plan.Parse(signed)
	if err == nil && p.Serial%5 == 3 {
		err = fmt.Errorf("refused on trial: plan %d", p.Serial)
	}
	if err == nil {
		h.inForce = p
	}
	return err
}

func (h *mortalHost) Kill(on bool) {
	h.step()
	defer h.step()
	h.machine.Kill(on)
}

// past is a host's life of some windows.
type past struct {
	t      *testing.T
	rules  policy.Rules
	effect [5]float64
	acts   map[int]func(*Controller) error // at the begin of a window

	*life
	bench
	host *mortalHost
	seen []string // by window: what is in force at its end
	lost []int    // windows that the store does not have
}

// start begins a process, and another one when that is killed at once.
func (p *past) start() {
	for p.ends(p.begin) {
	}
}

func (p *past) begin() {
	p.host = &mortalHost{life: p.life}
	var err error
	p.Controller, err = New(p.t.Context(), Options{PoP: "pop", Rules: p.rules, Treatment: "bbr", MinBytes: 100_000},
		mortalStore{p.s, p.life}, slog.New(slog.NewTextHandler(p.life, nil)), func() time.Time { return time.Unix(p.now, 0) })
	if err == nil {
		err = p.Attach(p.t.Context(), p.host)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// do restarts a process that was killed meanwhile, and reports that.
func (p *past) do(what func() error) (killed bool) {
	killed = p.ends(func() {
		if err := what(); err != nil {
			p.t.Fatal(err)
		}
	})
	if killed {
		p.start()
	}
	return killed
}

// run is a past of n windows whose process is killed at some steps, or does not see
// some windows.
func (p past) run(n int, kills, unseen []int) *past {
	p.life = &life{kills: kills}
	p.bench = bench{t: p.t, s: fresh(), now: noon}
	p.s.settings[journal.SettingSalt] = bytes.Repeat([]byte{7}, 16) // arms depend on it
	p.start()
	for i := range n {
		if act := p.acts[i]; act != nil {
			before := len(p.s.commits)
			for p.do(func() error { return act(p.Controller) }) && len(p.s.commits) == before {
				// The operator was told that it failed, and repeats it.
			}
		}
		w := tried(p.host.inForce, p.now, p.effect)
		switch {
		case i%30 == 5:
			w.Unknown = "a step of the clock"
		case i%30 == 7:
			w.Starved = "a shortage"
		case i == 30 && !p.rules.Experiment(): // it would end every trial
			w.DefaultCongs = []string{"bbr"}
		}
		p.now += 300
		if slices.Contains(unseen, i) || p.do(func() error { return p.Round(p.t.Context(), w) }) && !p.has(w.Start) {
			p.lost = append(p.lost, i)
		}
		p.seen = append(p.seen, p.state())
	}
	return &p
}

func (p *past) has(window int64) bool {
	return slices.ContainsFunc(p.s.commits, func(c journal.Commit) bool { return c.Closed && c.Start == window })
}

func (p *past) state() string {
	s := fmt.Sprintf("stopped %t, frozen %t, plan none", p.host.killed, p.frozen)
	if f := p.host.inForce; f != nil {
		s = fmt.Sprintf("stopped %t, frozen %t, plan %d %s %v", p.host.killed, p.frozen, f.Serial, f.Hash(), states(f))
	}
	return s
}

// story is all that the store has, in its order.
func (p *past) story() []string {
	var out []string
	for _, c := range p.s.commits {
		if c.Closed {
			out = append(out, fmt.Sprintf("window %d: %+v", c.Start, c.Rows))
		}
		if c.Round != nil {
			out = append(out, fmt.Sprintf("round %+v %s", c.Round.Summary, c.Round.SelectionJSON))
		}
		for _, e := range c.Events {
			out = append(out, fmt.Sprintf("event %d %s %s %s %s", e.At, e.Kind, e.Prefix, e.Text, e.Evidence))
		}
		if c.Plan != nil {
			out = append(out, fmt.Sprintf("plan %d %s", c.Plan.Serial, c.Plan.Hash))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(p.s.settings)) {
		if k != journal.SettingSigningKey {
			out = append(out, fmt.Sprintf("setting %s %q", k, p.s.settings[k]))
		}
	}
	return out
}

// differs says where two runs first differ, or "".
func differs(name string, got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("%s %d of %d:\n%.600s\nwant\n%.600s", name, i, len(want), g, w)
		}
	}
	return ""
}

// killsIn draws steps of the first n at which to kill: one, and often the processes that
// start after it, too.
func killsIn(n int, random *rand.Rand) []int {
	kills := []int{1 + random.IntN(n)}
	for random.IntN(2) == 0 {
		kills = append(kills, kills[len(kills)-1]+1+random.IntN(8))
	}
	return kills
}

// TestKilledAtAnyStepIsAsNeverKilled kills the controller at 200 random steps of some
// hours. What the store has in the end, and what the host did after each window, is that of
// the controller that lived on; where a kill lost a window, that of one which never saw it.
func TestKilledAtAnyStepIsAsNeverKilled(t *testing.T) {
	brake, harm := harming()
	brake.Trial.BlockSeconds = 600
	freeze := func(c *Controller) error { return c.Freeze(t.Context(), "test") }
	unfreeze := func(c *Controller) error { return c.Unfreeze(t.Context(), "test") }
	stop := func(c *Controller) error { return c.Stop(t.Context(), false, "test") }
	resume := func(c *Controller) error { return c.Resume(t.Context(), "test") }
	for _, c := range []struct {
		name    string
		past    past
		windows int
		points  int
		want    []string // kinds of events that occur
	}{
		{"trial", past{rules: policy.DefaultRules(), effect: [5]float64{4, 0.2, 4, 4, 1}, acts: map[int]func(*Controller) error{38: freeze, 45: unfreeze, 70: stop, 74: resume}},
			100, 100, []string{"selected", "promoted", "retired", "plan-refused", "freeze", "stop", "resume"}},
		{"level", past{rules: policy.DefaultRules().ByLevel(), effect: [5]float64{1, 1, 1, 1, 1}, acts: map[int]func(*Controller) error{8: freeze, 20: unfreeze}},
			40, 50, []string{"selected", "plan-refused", "unfreeze"}},
		{"brake", past{rules: brake, effect: harm, acts: map[int]func(*Controller) error{140: resume}},
			147, 50, []string{"brake", "resume"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.past.t = t
			never := c.past.run(c.windows, nil, nil)
			for _, kind := range c.want {
				if never.told(policy.EventKind(kind)) == 0 {
					t.Errorf("no event %q", kind)
				}
			}
			without := map[string]*past{"[]": never}
			random := rand.New(rand.NewPCG(14, 8))
			failed, points := 0, c.points
			if testing.Short() {
				points /= 10
			}
			for range points {
				kills := killsIn(never.steps, random)
				got := c.past.run(c.windows, kills, nil)
				lost := fmt.Sprint(got.lost)
				if without[lost] == nil {
					without[lost] = c.past.run(c.windows, nil, got.lost)
				}
				want := without[lost]
				d := differs("after window", got.seen, want.seen)
				if d == "" {
					d = differs("line", got.story(), want.story())
				}
				if d == "" {
					continue
				}
				if failed++; failed <= 3 {
					t.Errorf("killed at steps %d of %d, windows lost: %s: %s", kills, never.steps, lost, d)
				}
			}
			t.Logf("%d of %d kills differ from a run of %d steps that was never killed", failed, points, never.steps)
		})
	}
}

// TestStartOnAFullDiskForcesWhatWasCommitted: nothing that the plan needs is written.
func TestStartOnAFullDiskForcesWhatWasCommitted(t *testing.T) {
	s := fresh()
	b := newBench(t, s, &machine{}, t0)
	b.rounds(11)
	inForce := s.settings[settingInForce]
	b.rounds(1)
	s.settings[settingInForce], s.full = inForce, true
	again := newBench(t, s, &machine{}, b.now)
	if p := lastPlan(t, again.m); len(p.Entries) != 5 {
		t.Errorf("plan after the restart: %+v", p.Entries)
	}
}
