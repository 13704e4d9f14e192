package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/tcp/record"
)

func TestStopIsImmediateSurvivesAndEvicts(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	if err := b.Stop(t.Context(), true, "test"); err != nil || !m.killed || m.evicted != 1 {
		t.Fatalf("%v, %+v", err, m)
	}
	if again := newBench(t, s, &machine{}, b.now); !again.m.killed {
		t.Error("stop did not survive a restart")
	}
	if err := b.Resume(t.Context(), "test"); err != nil || m.killed {
		t.Errorf("%v, %+v", err, m)
	}
	s.full = true
	if err := b.Stop(t.Context(), false, "test"); !errors.Is(err, errFull) || !m.killed {
		t.Errorf("a full store kept the kill switch from working: %v, %+v", err, m)
	}
}

// A Resume that is in the store when Stop comes must not have the last word in the kernel.
func TestStopOutlastsAResumeThatRuns(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	if err := b.Stop(t.Context(), false, "first"); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	s.onCommit = func(*journal.Commit) {
		s.onCommit = nil
		early := make(chan bool)
		m.onKill = func(bool) { m.onKill = nil; close(early) }
		go func() { stopped <- b.Stop(t.Context(), false, "second") }()
		<-early
	}
	if err := b.Resume(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil || !m.killed || !b.killed || string(s.settings[journal.SettingKilled]) != "1" {
		t.Errorf("%v; stopped: kernel %t, controller %t, store %s", err, m.killed, b.killed, s.settings[journal.SettingKilled])
	}
}

func TestStopIsDoneThoughNothingCanBeMovedBack(t *testing.T) {
	s, m := fresh(), &machine{noEvict: agent.ErrNoEvict}
	b := newBench(t, s, m, t0)
	gone, cancel := context.WithCancel(t.Context())
	cancel() // the client has left
	err := b.Stop(gone, true, "test")
	if !errors.Is(err, agent.ErrNoEvict) || !strings.HasPrefix(err.Error(), "treatment is stopped, but not all connections were moved back: ") || !m.killed {
		t.Errorf("%v, %+v", err, m)
	}
	if n := len(s.events); n != 2 || s.events[1].Kind != "evict" || s.events[1].Text != "treated connections moved back: 0, by test" {
		t.Errorf("events: %+v", s.events)
	}
}

// TestRewrite: an earlier content comes back under a new serial, and stays.
func TestRewrite(t *testing.T) {
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.rounds(40)
	first := lastPlan(t, m)
	if len(first.Entries) == 0 {
		t.Fatal("nothing selected")
	}
	for _, serial := range []record.PlanID{0, first.Serial} {
		if err := b.Rewrite(t.Context(), serial); err != nil {
			t.Fatal(err)
		}
		next := lastPlan(t, m)
		want := len(first.Entries)
		if serial == 0 {
			want = 0
		}
		if next.Serial <= first.Serial || len(next.Entries) != want || !b.frozen || string(s.settings[journal.SettingFrozen]) != "1" {
			t.Errorf("rewritten %d: serial %d, %d entries, frozen %v", serial, next.Serial, len(next.Entries), b.frozen)
		}
	}
	var said *control.Error
	for serial, code := range map[record.PlanID]control.Code{999: control.NotFound, 0: control.BadRequest} {
		if err := b.RollBack(t.Context(), serial, "test"); !errors.As(err, &said) || said.Code != code {
			t.Errorf("roll back to %d: %v", serial, err)
		}
	}
	if err := b.RollBack(t.Context(), first.Serial, "test"); err != nil {
		t.Error(err)
	}
	m.refuse = errors.New("no")
	if err := b.RollBack(t.Context(), first.Serial, "test"); !errors.As(err, &said) || said.Code != control.Conflict {
		t.Errorf("refused: %v", err)
	}
}
