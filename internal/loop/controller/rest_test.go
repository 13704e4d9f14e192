package controller

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// shelf is a file in memory.
type shelf struct{ bytes []byte }

func (s *shelf) WriteAt(b []byte, at int64) (int, error) {
	s.bytes = append(s.bytes[:at], b...)
	return len(b), nil
}

func (s *shelf) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(s.bytes).ReadAt(b, at)
}

// TestRest: a controller that lays its measurements down after each round, is asked meanwhile, and loses the file
// once, decides and answers as one that holds them in memory.
func TestRest(t *testing.T) {
	var pair [2]*bench
	for i := range pair {
		s := fresh()
		s.settings[journal.SettingSalt] = bytes.Repeat([]byte{7}, 16)
		pair[i] = newBenchBy(t, s, &machine{}, noon, policy.DefaultRules())
	}
	held, rested, file := pair[0], pair[1], &shelf{}
	rested.opt.Shelf = file
	views := [2]*View{{Controller: held.Controller}, {Controller: rested.Controller}}
	for round := range 150 {
		for _, b := range pair {
			b.try(1, [5]float64{4, 0.2, 1, 4, 4})
		}
		if err := rested.Rest(); err != nil || !rested.engine.Resting() || held.Rest() != nil || held.engine.Resting() {
			t.Fatal("at rest:", rested.engine.Resting(), held.engine.Resting(), err)
		}
		if round == 40 {
			file.bytes[len(file.bytes)/2] ^= 1
		}
		if held.windowsToDecide() != rested.windowsToDecide() {
			t.Fatalf("round %d: %d windows to decide, at rest %d", round, held.windowsToDecide(), rested.windowsToDecide())
		}
		var rows, listed [2][]control.PrefixRow
		var recent [2][][]float32
		var effects [2]Measured
		var plans [2]any
		for i, v := range views {
			var err1, err2, err3, err4, err5 error
			rows[i], err1 = v.Prefixes(t.Context(), control.PrefixesRequest{})
			effects[i], err2 = v.Measure(t.Context())
			_, err3 = v.Explain(t.Context(), rows[i][0].Prefix)
			err4 = v.EachPrefix(t.Context(), func(r *control.PrefixRow) (err error) {
				if listed[i] = append(listed[i], *r); len(listed[i]) == 1 { // a question, and a rest, in the middle
					recent[i], err = v.Recent(t.Context(), []record.Prefix{r.Prefix}, 36)
					err5 = v.Rest()
				}
				return err
			})
			if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
				t.Fatal(err)
			}
			plans[i] = pair[i].plan
		}
		if !rested.engine.Resting() || rested.turns != 0 {
			t.Fatalf("round %d: not at rest after the questions; %d go on", round, rested.turns)
		}
		effects[0].Plan, effects[1].Plan = journal.PlanFile{}, journal.PlanFile{} // signed with different keys
		if len(listed[0]) < len(rows[0]) || !reflect.DeepEqual(listed[0], listed[1]) || !reflect.DeepEqual(recent[0], recent[1]) {
			t.Fatalf("round %d: of %d networks, %s%s", round, len(rows[0]), cmp.Diff(listed[0], listed[1]), cmp.Diff(recent[0], recent[1]))
		}
		if !reflect.DeepEqual(effects[0], effects[1]) || !reflect.DeepEqual(rows[0], rows[1]) || !reflect.DeepEqual(plans[0], plans[1]) {
			t.Fatalf("round %d:\n%s%s%s", round, cmp.Diff(rows[0], rows[1]), cmp.Diff(effects[0], effects[1]), cmp.Diff(plans[0], plans[1]))
		}
	}
	if held.told(policy.EventPromoted) == 0 {
		t.Error("nothing was promoted")
	}
}
