package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/record"
)

// The show runs in acts: watch until prefixes are selected and have been treated
// for a while, show the verbs, pull the kill switch, let go of it, end.

const (
	// patience with the selection: it takes 12 known windows, 36 s, and a few more
	// until the slow networks have their five connections.
	selectWithin = 75 * time.Second
	// treatedFor is a block and a half: whatever the time of the selection, one change
	// of block at least.
	treatedFor = block + block/2
	// Each state of the kill switch lasts long enough for several downloads of the
	// selected networks.
	stoppedFor = 8 * time.Second
	resumedFor = 8 * time.Second
)

// show is one run of the demo.
type show struct {
	screen *screen
	edge   *edge
	daemon *daemon
	load   *load
	book   *book
	dir    string
	begun  time.Time
	rows   map[record.Prefix]control.PrefixRow // congctl's own table, read at the end
}

// run plays all acts. What it built is the caller's to take down.
func (s *show) run(ctx context.Context, binary string) (err error) {
	if s.edge, err = raise(allNetworks(), s.book.add); err != nil {
		return err
	}
	if s.daemon, err = s.edge.up(ctx, binary, s.dir); err != nil {
		return err
	}
	if err := s.stage(ctx); err != nil {
		return err
	}
	loadCtx, stop := context.WithCancel(ctx)
	s.load = s.edge.load(loadCtx)
	defer func() { stop(); s.load.wg.Wait() }()
	for _, act := range []func(context.Context) error{s.measure, s.treat, s.ask, s.kill, s.read} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wait keeps reading plan and counts until enough, and shows progress.
func (s *show) wait(ctx context.Context, what string, atMost time.Duration, enough func() bool) error {
	defer s.screen.clear()
	end := time.Now().Add(atMost)
	for now := time.Now(); now.Before(end) && !enough(); now = time.Now() {
		if err := s.look(ctx); err != nil {
			return err
		}
		large, small, treated := s.book.count()
		s.screen.tick(now, "[%3.0f s] %s: %d large and %d small responses, %d large on %s, %d prefixes selected",
			now.Sub(s.begun).Seconds(), what, large, small, treated, treatment, s.book.chosen())
		if !sleep(ctx, 250*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// look reads the plan in force.
func (s *show) look(ctx context.Context) error {
	f, err := s.daemon.client.Plan(ctx, 0)
	var answer *control.Error
	if errors.As(err, &answer) && answer.Code == control.NotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask congctl: %w; it says:\n%s", err, s.daemon.tail())
	}
	p, _, err := plan.Parse([]byte(f.Text))
	if err != nil {
		return err
	}
	s.book.planned(p)
	return nil
}

func (s *show) measure(ctx context.Context) error {
	err := s.wait(ctx, "measuring", selectWithin, func() bool { return s.book.chosen() > 0 })
	if err == nil && s.book.chosen() == 0 {
		return fmt.Errorf("select a prefix: none within %s; congctl says:\n%s", selectWithin, s.daemon.tail())
	}
	return err
}

func (s *show) treat(ctx context.Context) error {
	return s.wait(ctx, "treating", treatedFor, func() bool { return false })
}

// kill pulls the kill switch, waits, and lets go of it.
func (s *show) kill(ctx context.Context) error {
	s.screen.title("The kill switch")
	for _, step := range []struct {
		verb string
		note func(time.Time)
		rest time.Duration
	}{{"stop", s.book.stopped, stoppedFor}, {"resume", s.book.resumed, resumedFor}} {
		out, err := s.daemon.verb(ctx, step.verb)
		if err != nil {
			return err
		}
		step.note(time.Now())
		s.screen.shell("congctl "+step.verb, out, 5)
		if err := s.wait(ctx, "after "+step.verb, step.rest, func() bool { return false }); err != nil {
			return err
		}
	}
	return nil
}

// read keeps congctl's last word on every prefix for the table.
func (s *show) read(ctx context.Context) error {
	rows, err := s.daemon.client.Prefixes(ctx, control.PrefixesRequest{})
	if err != nil {
		return err
	}
	s.rows = map[record.Prefix]control.PrefixRow{}
	for _, r := range rows {
		s.rows[r.Prefix] = r
	}
	return nil
}

// close takes everything down, in order: daemon, server, networks, files.
func (s *show) close() error {
	var errs []error
	if s.daemon != nil {
		errs = append(errs, s.daemon.quit())
	}
	if s.edge != nil {
		errs = append(errs, s.edge.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
