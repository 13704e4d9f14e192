package popday_test

import (
	"encoding/json"
	"testing"

	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/popday/popdaytest"
	"github.com/congctl/congctl/internal/tcp/record"
)

func imaginedDay(t testing.TB) *pop.Day {
	t.Helper()
	d, err := pop.Parse("imagined.yml", []byte(popdaytest.Day))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// imagined returns the input of runs of each policy and seed.
func imagined(t testing.TB, luck uint64, truth popdaytest.Truth, seeds []uint64, policies ...string) *popday.Input {
	t.Helper()
	in := &popday.Input{Day: imaginedDay(t), Experiment: popday.Experiment{WindowS: 120, BlockS: 720, WashoutS: 120, MinKnown: 12, LowRTTUs: 5000, MinBytes: popday.LargeBytes}}
	for _, seed := range seeds {
		for i, name := range policies {
			made := popdaytest.Imagine(in.Day, seed, 1000*luck+10*seed+uint64(i), name, truth)
			in.Runs = append(in.Runs, runOf(t, made))
		}
	}
	return in
}

func runOf(t testing.TB, made *popdaytest.Run) popday.Run {
	t.Helper()
	facts, err := popday.ReadFacts(made.Facts)
	if err != nil {
		t.Fatal(err)
	}
	run := popday.Run{Facts: facts, Responses: made.Responses}
	if made.Loop {
		run.Loop = loopOf(t, made)
	}
	return run
}

func loopOf(t testing.TB, made *popdaytest.Run) *popday.Loop {
	t.Helper()
	l := &popday.Loop{Heads: map[int64]bool{}, Refuse: map[record.Prefix]string{}, Pairs: comparison.New(comparison.Config{
		WindowSeconds: 120, BlockSeconds: 720, WashoutSeconds: 120, GroupTrial: 2, GroupPromoted: 8, To: 1 << 40, ArmOf: plan.NewDraws(popdaytest.Salt, 0, 0).Arm})}
	for _, r := range made.Rounds {
		var m policy.Memory
		if err := json.Unmarshal(r.SelectionJSON, &m); err != nil {
			t.Fatal(err)
		}
		l.Pairs.Round(r.RoundStart, m.Selected)
		l.Rounds = append(l.Rounds, popday.Round{Round: r, Chosen: m.Selected})
	}
	for _, h := range made.Heads {
		l.Heads[h.Start] = true
	}
	for i := range made.Windows {
		l.Pairs.Window(&made.Windows[i])
	}
	l.Rows = made.Windows
	for _, e := range made.Events {
		l.Events = append(l.Events, e)
		if e.Kind == string(policy.EventRefused) {
			l.Refuse[e.Prefix] = "rwnd"
		}
	}
	return l
}
