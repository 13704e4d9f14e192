package controller

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
)

// TestViewsAgreeOnARefusedPlan: a plan that the host refused treats nothing, in an
// answer from the store neither.
func TestViewsAgreeOnARefusedPlan(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(11)
	m.refuse = errors.New("kernel said no")
	b.rounds(1)
	live := &View{Controller: b.Controller, Agent: func() agent.Status { return agent.Status{} }}
	stored, err := Stored(t.Context(), s, b.opt, "test", b.Controller.now)
	if err != nil {
		t.Fatal(err)
	}
	want, err1 := live.Prefixes(t.Context(), control.PrefixesRequest{Limit: 5})
	got, err2 := stored.Prefixes(t.Context(), control.PrefixesRequest{Limit: 5})
	if err1 != nil || err2 != nil || want[0].Since == 0 || want[0].Treatment != "" || !slices.Equal(got, want) {
		t.Errorf("%v, %v: %+v\nwant\n%+v", err1, err2, got, want)
	}
}

// TestStatusTellsWhatTheKernelDoes: on a full disk a stop holds in the kernel and not in the store,
// and a resume is refused; the status says both.
func TestStatusTellsWhatTheKernelDoes(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	live := &View{Controller: b.Controller, Agent: func() agent.Status { return agent.Status{Stopped: m.killed} }}
	want := func(when string, stopped, next bool) {
		t.Helper()
		got, err := live.Status(t.Context())
		if err != nil || got.Stopped != stopped || got.StoppedNext != next || (len(got.Agent.Alarms) > 0) != (stopped != next) {
			t.Errorf("%s: stopped %t, at the next start %t, alarms %q, %v", when, got.Stopped, got.StoppedNext, got.Agent.Alarms, err)
		}
	}
	want("running", false, false)
	s.full = true
	if err := b.Stop(t.Context(), false, "test"); !errors.Is(err, errFull) {
		t.Error(err)
	}
	want("stop on a full disk", true, false)
	if err := b.Resume(t.Context(), "test"); !errors.Is(err, errFull) || !m.killed {
		t.Errorf("%v, %+v", err, m)
	}
	want("resume on a full disk", true, false)
	s.full = false
	if err := b.Stop(t.Context(), false, "test"); err != nil {
		t.Error(err)
	}
	want("stop again", true, true)
	if err := b.Resume(t.Context(), "test"); err != nil {
		t.Error(err)
	}
	want("resume", false, false)
}

// TestMeasure: what metrics show of a round is what the round decided, and the effect that its pairs have.
func TestMeasure(t *testing.T) {
	r := policy.DefaultRules()
	b := newBenchBy(t, fresh(), &machine{}, noon, r)
	if m, err := b.Measure(t.Context()); err != nil || m.Round.RoundStart != 0 || m.Effect.Pairs != 0 || m.Plan.Serial != 0 {
		t.Errorf("before the first round: %+v, %v", m, err)
	}
	b.try(36, [5]float64{4, 4, 4, 4, 4})
	m, err := b.Measure(t.Context())
	if err != nil || m.Round.RoundStart != b.now || m.Round.Selected != len(m.Selected) || len(m.Selected) == 0 || m.Plan.Serial != lastPlan(t, b.m).Serial {
		t.Errorf("%+v, %v", m, err)
	}
	if got := math.Exp(m.Effect.LogRatio); m.Effect.Pairs < 5 || math.Abs(got-4) > 0.01 || m.Cost.Pairs != m.Effect.Pairs || math.Abs(m.Cost.Treated-0.02) > 1e-6 {
		t.Errorf("effect x %v, %+v, cost %+v", got, m.Effect, m.Cost)
	}
}
