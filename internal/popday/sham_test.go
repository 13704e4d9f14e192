package popday_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/popdaytest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestShamIsApart: a network for A/A is compared by itself and in no class. The slow one's
// blocks differ in nothing; the lossy one was treated all the same, which A/A must show.
func TestShamIsApart(t *testing.T) {
	if r := build(t, imagined(t, 1, truth, []uint64{1}, "loop")); len(r.Shams) > 0 {
		t.Errorf("A/A without such a network: %+v", r.Shams)
	}
	for class, faulty := range map[string]bool{"slow": false, "lossy": true} {
		in := imagined(t, 1, truth, nil)
		made := popdaytest.Imagine(in.Day, 1, 7, "loop", truth)
		forAA(t, made, class)
		in.Runs = append(in.Runs, runOf(t, made))
		r := build(t, in)
		if len(r.Shams) != 1 || r.Shams[0].Networks != 1 || r.Shams[0].Goodput.Pairs < 3 || r.Shams[0].Goodput.P50.Interval == nil {
			t.Fatalf("%s: %+v", class, r.Shams)
		}
		if iv := r.Shams[0].Goodput.P50.Interval; (iv.Low > 1 || iv.High < 1) != faulty {
			t.Errorf("%s for A/A: %+v, fault %v", class, iv, faulty)
		}
		for _, e := range r.Effects {
			if e.Label == class && (class == "slow" || e.Networks != 2) {
				t.Errorf("%s for A/A is among %d networks of its class", class, e.Networks)
			}
		}
	}
}

// forAA makes the first network of a class one for A/A in every round.
func forAA(t *testing.T, made *popdaytest.Run, class string) {
	t.Helper()
	facts, err := popday.ReadFacts(made.Facts)
	if err != nil {
		t.Fatal(err)
	}
	var prefix record.Prefix
	for i := len(facts.Networks) - 1; i >= 0; i-- {
		if strings.HasPrefix(facts.Networks[i].Class, class) {
			prefix = facts.Networks[i].Prefix
		}
	}
	for i := range made.Rounds {
		var m policy.Memory
		if err := json.Unmarshal(made.Rounds[i].SelectionJSON, &m); err != nil {
			t.Fatal(err)
		}
		for k := range m.Selected {
			if m.Selected[k].Prefix == prefix {
				m.Selected[k].Role = record.ArmAA
			}
		}
		made.Rounds[i].SelectionJSON, _ = json.Marshal(m) // as it was read
	}
}
