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

	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/tcp/record"
)

// LoopStore is what the report reads of congctl's.
type LoopStore interface {
	effects.Past
	Events(ctx context.Context, p record.Prefix, n int, kinds ...string) ([]journal.Event, error)
	Setting(ctx context.Context, key string) ([]byte, bool, error)
	Close() error
}

const (
	observePolicy = "observe"
	all           = 1 << 30 // rounds or events: more than a day has
	forever       = 1 << 40 // Unix seconds
)

// readLoop reads a run's store; nil if congctl did not run.
func readLoop(ctx context.Context, path string, d *pop.Day, name string, src Source) (l *popday.Loop, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	by := popday.Loops[0]
	if slices.Contains(popday.Loops, name) {
		by = name // its blocks are its own rule's
	}
	cfg, err := src.Config(d, by)
	if err != nil {
		return nil, err
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
	for _, part := range []func(context.Context, *popday.Loop, LoopStore) error{rounds, windows, events} {
		if err := part(ctx, l, s); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func rounds(ctx context.Context, l *popday.Loop, s LoopStore) error {
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

func windows(ctx context.Context, l *popday.Loop, s LoopStore) error {
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

// events keeps those of networks, and the guards that ever kept each one out.
func events(ctx context.Context, l *popday.Loop, s LoopStore) error {
	list, err := s.Events(ctx, 0, all)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(list) {
		if e.Prefix == 0 && e.Kind != string(policy.EventBrake) {
			continue
		}
		l.Events = append(l.Events, e)
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
