package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/congctl/congctl/internal/app/effects"
	"github.com/congctl/congctl/internal/core/comparison"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/pop"
	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/data/responses"
	"github.com/congctl/congctl/internal/data/sqlite"
	kernelpop "github.com/congctl/congctl/internal/kernel/pop"
)

// loopStory is what congctl did on a day.
type loopStory struct {
	facts  kernelpop.Facts
	events []journal.Event // in the order of the day
	rounds []journal.Round
	effect *effects.View
}

// told are the events that say who is treated, and who is not though it is slow.
var told = []policy.EventKind{policy.EventSelected, policy.EventReleased, policy.EventRefused, policy.EventPromoted,
	policy.EventRetrial, policy.EventDemoted, policy.EventRetired, policy.EventBrake}

// readLoop reads a run's folder; nil where no congctl ran.
func readLoop(ctx context.Context, dir string) (*loopStory, error) {
	l := &loopStory{}
	err := withDayStore(ctx, filepath.Join(dir, storeFile), func(s *sqlite.Store) error { return l.read(ctx, dir, s) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read day %s: %w", dir, err)
	}
	return l, nil
}

func (l *loopStory) read(ctx context.Context, dir string, s *sqlite.Store) error {
	facts, err := os.ReadFile(filepath.Join(dir, factsFile))
	if err == nil {
		err = json.Unmarshal(facts, &l.facts)
	}
	if err != nil {
		return err
	}
	events, err := s.Events(ctx, 0, wholeDay)
	if err != nil {
		return err
	}
	slices.Reverse(events)
	l.events = slices.DeleteFunc(events, func(e journal.Event) bool { return !slices.Contains(told, policy.EventKind(e.Kind)) })
	if l.rounds, err = s.Rounds(ctx, wholeDay); err != nil {
		return err
	}
	return l.estimate(ctx, dir, s)
}

// wholeDay is more events, and rounds, than a day has.
const wholeDay = 1 << 20

// estimate compares the day's randomised blocks, as congctl effect does.
func (l *loopStory) estimate(ctx context.Context, dir string, s *sqlite.Store) error {
	text, err := os.ReadFile(filepath.Join(dir, dayFile))
	if err != nil {
		return err
	}
	d, err := pop.Parse(filepath.Base(l.facts.Day+".yml"), text)
	if err != nil {
		return err
	}
	cfg, err := popConfig(d, l.facts.Policy)
	if err != nil {
		return err
	}
	c, err := comparisonOf(ctx, cfg, s)
	if err != nil {
		return err
	}
	c.From, c.To = l.facts.BeganUnixS, l.facts.BeganUnixS+int64(l.facts.DurationUs/1e6)
	b, _, err := effects.Load(ctx, c, s, keptResponses{responses.Dir(filepath.Join(dir, "goodput"))}) // there are no access logs
	if err != nil {
		return err
	}
	l.effect = &effects.View{PoP: d.Name, Treatment: cfg.Treatment.Cong, From: c.From, To: c.To}
	l.effect.Fill(b.Report(comparison.Grouping{}, effectSeed), "")
	return nil
}

// selected counts the networks that were in a plan.
func (l *loopStory) selected() int {
	ever := map[record.Prefix]bool{}
	for _, e := range l.events {
		if e.Kind == string(policy.EventSelected) {
			ever[e.Prefix] = true
		}
	}
	return len(ever)
}

// text tells who was selected when, how much changed, and what it did.
func (l *loopStory) text(w io.Writer) error {
	fmt.Fprintf(w, "\n%s-%d: what congctl did, by the time of the day\n\n", l.facts.Policy, l.facts.Seed)
	classes := map[string]string{}
	for _, n := range l.facts.Networks {
		classes[n.Prefix] = n.Class
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range l.events {
		who, class := "-", "-"
		if e.Prefix != 0 {
			who = e.Prefix.String()
			class = classes[who]
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", hours(e.At-l.facts.BeganUnixS), e.Kind, who, class, e.Text)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	most, added, left := 0, 0, 0
	for _, r := range l.rounds {
		most, added, left = max(most, r.New), added+r.New, left+r.Released
	}
	fmt.Fprintf(w, "\nchurn: %d rounds, %d in, %d out, at most %d in at once\n\n", len(l.rounds), added, left, most)
	return l.effect.Text(w)
}

// hours as in 3h05m.
func hours(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// withDayStore opens a copy of a store: readers of SQLite leave files beside the one
// that they read, and a day's folder must stay as it is.
func withDayStore(ctx context.Context, path string, fn func(*sqlite.Store) error) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "congctl-day-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	place := filepath.Join(dir, storeFile)
	if err := os.WriteFile(place, b, 0o600); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, place, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}
