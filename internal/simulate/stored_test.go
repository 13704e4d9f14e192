package simulate

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/simulate/city"
	"github.com/congctl/congctl/internal/tcp/record"
)

// shelf is a store in memory.
type shelf struct {
	heads []journal.Head
	rows  map[int64][]record.Window
}

func (s *shelf) Heads(_ context.Context, from, to int64) ([]journal.Head, error) { return s.heads, nil }

func (s *shelf) Windows(_ context.Context, from, to int64, row func(*record.Window) error) error {
	for start, rows := range s.rows {
		for i := range rows {
			if start >= from && start < to {
				if err := row(&rows[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// live runs a loop without trials, treatment and all, keeps its windows, and returns what
// each round selected.
func live(t *testing.T, o CityOptions, windows int64) (s *shelf, selected [][]record.Prefix) {
	t.Helper()
	s = &shelf{rows: map[int64][]record.Window{}}
	c := city.New(o.Seed, o.Prefixes, 300, 0)
	f := newForce(o, c)
	rules := o.Rules.ByLevel()
	e := policy.New(rules, nil)
	for n := range windows {
		f.start = cityStart + 300*n
		h := journal.Head{Start: f.start}
		if n%17 == 16 {
			h.Note = "wall clock stepped"
		}
		rows := c.Window(f.start, f.served, nil)
		s.heads, s.rows[f.start] = append(s.heads, h), rows
		d := e.Round(policy.Input{Start: f.start, RoundStart: f.start + 300, Rows: rows, Unknown: h.Note})
		f.take(d)
		list := []record.Prefix{}
		for _, x := range d.Selection {
			list = append(list, x.Prefix)
		}
		selected = append(selected, list)
	}
	return s, selected
}

// TestStoredDecidesWhatWasDecided: with the rules of then, a store's replay is the past.
func TestStoredDecidesWhatWasDecided(t *testing.T) {
	o := town(2, false)
	s, want := live(t, o, 60)
	var got [][]record.Prefix
	err := Replay(t.Context(), o.Rules, Stored{PoP: "ams", WindowSeconds: 300, Store: s}, func(r Round) error {
		if r.PoP != "ams" || r.RoundStart != cityStart+300*int64(len(got)+1) {
			t.Errorf("round %d: %+v", len(got), r)
		}
		got = append(got, r.Selected)
		return nil
	})
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) || len(want[59]) == 0 {
		t.Errorf("%v; got\n%v\nwant\n%v", err, got, want)
	}
}

func TestStoredRefusesAnotherWindow(t *testing.T) {
	s := &shelf{heads: []journal.Head{{Start: cityStart}, {Start: cityStart + 300}}}
	err := Replay(t.Context(), policy.DefaultRules(), Stored{WindowSeconds: 3600, Store: s}, func(Round) error { return nil })
	if !errors.Is(err, ErrWindow) {
		t.Errorf("got %v", err)
	}
}
