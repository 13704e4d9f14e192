//go:build !small

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/simulate"
	"github.com/congctl/congctl/internal/strict"
)

func (s *simulation) replayHistory(cmd *cobra.Command, rules policy.Rules) error {
	in := cmd.InOrStdin()
	if s.history != "-" {
		f, err := plainfile.Open(s.history)
		if err != nil {
			return usage(fmt.Errorf("read history: %w", err))
		}
		defer f.Close()
		in = f
	}
	tell, done := progress(cmd)
	h, err := simulate.ReadHistory(in, rules.WindowSeconds, func(lines int) { tell("read %d lines", lines) })
	done()
	if err != nil {
		err = fmt.Errorf("read history %s: %w", s.history, err)
		if fault := (strict.Fault{}); errors.As(err, &fault) {
			return usage(err)
		}
		return err
	}
	if h.Len() == 0 {
		return notFound("", fmt.Errorf("read history %s: no window in it", s.history))
	}
	return s.replay(cmd, rules, h)
}

// replayStore takes the store from the configuration in force: the rules on trial may be
// another host's.
func (s *simulation) replayStore(cmd *cobra.Command, rules policy.Rules) error {
	cfg, err := s.g.config()
	if err != nil {
		return err
	}
	if s.store != "" {
		cfg.StateDir = s.store
	}
	none := notFound("congctl simulate --history FILE", fmt.Errorf("no store in %s", cfg.StateDir))
	return withStore(cmd.Context(), cfg, none, func(st *sqlite.Store) error { return s.replayStored(cmd, st, cfg.PoP, rules) })
}

func (s *simulation) replayStored(cmd *cobra.Command, st *sqlite.Store, pop string, rules policy.Rules) error {
	if _, ok, err := st.LastWindow(cmd.Context()); err != nil {
		return err
	} else if !ok {
		return notFound("", fmt.Errorf("read store %s: no window in it", st.Path()))
	}
	pop, err := popOf(cmd.Context(), st, pop)
	if err != nil {
		return err
	}
	err = s.replay(cmd, rules, simulate.Stored{PoP: pop, WindowSeconds: rules.WindowSeconds, Store: st})
	if errors.Is(err, simulate.ErrWindow) {
		return usage(err)
	}
	return err
}

// popOf names the PoP as the store's plan does: the rules may be another host's.
func popOf(ctx context.Context, st *sqlite.Store, otherwise string) (string, error) {
	f, ok, err := st.LatestPlan(ctx)
	if err != nil || !ok {
		return otherwise, err
	}
	p, _, err := plan.Parse(f.Text)
	if err != nil {
		return "", fmt.Errorf("read plan %d of the store: %w", f.Serial, err)
	}
	return p.PoP, nil
}

func (s *simulation) replay(cmd *cobra.Command, rules policy.Rules, from simulate.Source) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	each, end := simulate.RoundWriter(answer.Fit(out, width(cmd.OutOrStdout()))), func(err error) error { return errors.Join(err, out.Flush()) }
	if !s.g.isTable() {
		l := s.g.list(cmd)
		each, end = func(r simulate.Round) error { return l.Add(r) }, l.Close
	}
	tell, done := progress(cmd)
	n := 0
	err := simulate.Replay(cmd.Context(), rules, from, func(r simulate.Round) error {
		if n++; n%12 == 0 {
			tell("%d rounds", n)
		}
		return each(r)
	})
	done()
	return end(err)
}
