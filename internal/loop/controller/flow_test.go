package controller

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestEachPrefix: row by row is as all at once by address, and ends when whoever takes them does.
func TestEachPrefix(t *testing.T) {
	b := newBench(t, fresh(), &machine{}, t0)
	b.rounds(14)
	live := &View{Controller: b.Controller, Agent: func() agent.Status { return agent.Status{} }}
	want, err := live.Prefixes(t.Context(), control.PrefixesRequest{Sort: policy.ByAddress})
	if err != nil || len(want) != 25 {
		t.Fatalf("%d rows, %v", len(want), err)
	}
	var got []control.PrefixRow
	err = live.EachPrefix(t.Context(), func(r *control.PrefixRow) error { got = append(got, *r); return nil })
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %d rows one after the other", err, len(got))
	}
	if err := live.EachPrefix(t.Context(), func(*control.PrefixRow) error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader that left: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := live.EachPrefix(gone, func(*control.PrefixRow) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
}

// TestRecent: the rates are those that explain tells of the same windows.
func TestRecent(t *testing.T) {
	b := newBench(t, fresh(), &machine{}, t0)
	b.rounds(14)
	live := &View{Controller: b.Controller}
	rows, err1 := live.Prefixes(t.Context(), control.PrefixesRequest{})
	x, err2 := live.Explain(t.Context(), rows[0].Prefix)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	recent, err := live.Recent(t.Context(), []record.Prefix{rows[0].Prefix, 1}, 20)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range x.Windows[len(x.Windows)-10:] {
		if got := recent[0][10+i]; float64(got) != w.PerfBytesPerS || got == 0 {
			t.Errorf("recent %d: %g, explained %g", i, got, w.PerfBytesPerS)
		}
	}
	if recent[1] != nil || recent[0][0] != 0 {
		t.Errorf("not tracked, or not known: %v", recent)
	}
}
