package controller

import (
	"errors"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
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
