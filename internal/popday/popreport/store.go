package popreport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/effects"
	"github.com/congctl/congctl/internal/core/comparison"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/popday"
	"github.com/congctl/congctl/internal/core/record"
)

// History is what is asked of congctl's store.
type History interface {
	Heads(ctx context.Context, from, to int64) ([]journal.Head, error)
	Windows(ctx context.Context, from, to int64, row func(*record.Window) error) error
	Rounds(ctx context.Context, n int) ([]journal.Round, error)
}

// Store is a whole one.
type Store interface {
	History
	Events(ctx context.Context, p record.Prefix, n int) ([]journal.Event, error)
	Setting(ctx context.Context, key string) ([]byte, bool, error)
	Close() error
}

const (
	observePolicy = "observe"
	all           = 1 << 30 // rounds or events: more than a day has
	forever       = 1 << 40 // Unix seconds
)

// readLoop reads a run's store; nil where congctl did not run.
func readLoop(ctx context.Context, path string, cfg config.Config, name string, src Source) (l *popday.Loop, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s, err := src.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	salt, _, err := s.Setting(ctx, journal.SettingSalt)
	if err != nil {
		return nil, err
	}
	c := effects.ConfigOf(cfg, salt)
	c.To = forever
	l = &popday.Loop{Observes: name == observePolicy, Pairs: comparison.New(c), Heads: map[int64]bool{}, Refuse: map[record.Prefix]string{}}
	for _, part := range []func(context.Context, *popday.Loop, Store) error{rounds, windows, events} {
		if err := part(ctx, l, s); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func rounds(ctx context.Context, l *popday.Loop, s Store) error {
	list, err := s.Rounds(ctx, all)
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(list) {
		var m policy.Memory
		if err := json.Unmarshal(r.SelectionJSON, &m); err != nil {
			return fmt.Errorf("read round %d: %w", r.RoundStart, err)
		}
		l.Pairs.Round(r.RoundStart, m.Selected)
		l.Rounds = append(l.Rounds, popday.Round{Round: r, Chosen: m.Selected})
	}
	return nil
}

func windows(ctx context.Context, l *popday.Loop, s Store) error {
	heads, err := s.Heads(ctx, 0, forever)
	if err != nil {
		return err
	}
	for _, h := range heads {
		if l.Heads[h.Start] = h.Note == ""; h.Note != "" {
			l.Pairs.Skip(h.Start)
		}
	}
	return s.Windows(ctx, 0, forever, func(w *record.Window) error {
		l.Pairs.Window(w)
		if w.Eligible > 0 {
			l.Rows = append(l.Rows, *w)
		}
		return nil
	})
}

// events keeps those of networks, and which guards ever kept one out.
func events(ctx context.Context, l *popday.Loop, s Store) error {
	list, err := s.Events(ctx, 0, all)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(list) {
		if e.Prefix == 0 && e.Kind != string(policy.EventBrake) {
			continue
		}
		l.Events = append(l.Events, popday.Event{At: e.At, Kind: policy.EventKind(e.Kind), Prefix: e.Prefix, Text: e.Text})
		if e.Kind != string(policy.EventRefused) {
			continue
		}
		var told policy.Event
		if err := json.Unmarshal(e.Evidence, &told); err != nil {
			return fmt.Errorf("read event %d: %w", e.ID, err)
		}
		l.Refuse[e.Prefix] = joined(l.Refuse[e.Prefix], told.Guard)
	}
	return nil
}

// joined adds names to a list of names, both joined by commas, each once.
func joined(list, more string) string {
	names := strings.FieldsFunc(list+","+more, func(r rune) bool { return r == ',' })
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}
