//go:build !small

package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// oneNetwork is a view of a network in a block that ends.
type oneNetwork struct {
	control.View
	until int64
	asked int
	err   error
}

func (o *oneNetwork) Prefixes(context.Context, control.PrefixesRequest) ([]control.PrefixRow, error) {
	o.asked++
	return []control.PrefixRow{{ArmUntil: o.until, Arm: record.ArmTreatment}}, o.err
}

// TestTopKeepsNetworks: they are asked again after a round, an action, a restart, a block and 30 s, and else not.
func TestTopKeepsNetworks(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	v, k, st := &oneNetwork{until: begin.Unix() + 10}, topKept{}, control.Status{}
	for i, step := range []struct {
		after time.Duration
		do    func()
		asks  bool
	}{
		{0, func() {}, true},
		{2 * time.Second, func() {}, false},
		{3 * time.Second, func() { st.RoundUnixS++ }, true},
		{4 * time.Second, func() { st.Plan++ }, true},
		{5 * time.Second, func() { st.Stopped = true }, true},
		{6 * time.Second, func() { st.Frozen = true }, true},
		{7 * time.Second, func() { st.PID++ }, true},
		{9 * time.Second, func() {}, false},
		{10 * time.Second, func() { v.until = 0 }, true},
		{39 * time.Second, func() {}, false},
		{40 * time.Second, func() {}, true},
	} {
		step.do()
		was := v.asked
		n, err := k.get(t.Context(), begin.Add(step.after), v, &st)
		if err != nil || len(n) != 1 || (v.asked > was) != step.asks {
			t.Errorf("step %d: %d networks, %v, asked %d times more", i, len(n), err, v.asked-was)
		}
	}
	v.err = errors.New("no answer")
	st.Plan++
	for range 2 {
		if _, err := k.get(t.Context(), begin.Add(41*time.Second), v, &st); err == nil {
			t.Error("an old answer in place of an error")
		}
	}
}
