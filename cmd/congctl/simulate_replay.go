package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/show"
	"github.com/congctl/congctl/internal/app/simulate"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/data/sqlite"
)

func (s *simulation) replayHistory(cmd *cobra.Command, rules policy.Rules) error {
	in := cmd.InOrStdin()
	if s.history != "-" {
		f, err := os.Open(s.history)
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
		if fault := (config.Fault{}); errors.As(err, &fault) {
			return usage(err)
		}
		return err
	}
	if h.Len() == 0 {
		return notFound("", fmt.Errorf("read history %s: no window in it", s.history))
	}
	return s.replay(cmd, rules, h)
}

// replayStore takes the place from the configuration that holds: the rules on trial may
// be another's.
func (s *simulation) replayStore(cmd *cobra.Command, rules policy.Rules) error {
	cfg, err := s.g.config()
	if err != nil {
		return err
	}
	if s.store != "" {
		cfg.StateDir = s.store
	}
	path, err := filepath.Abs(storePath(cfg))
	if err != nil {
		return fmt.Errorf("find store: %w", err)
	}
	st, err := sqlite.Open(cmd.Context(), path, sqlite.Options{ReadOnly: true, SkipCheck: true})
	if errors.Is(err, fs.ErrNotExist) {
		return notFound("congctl simulate --history FILE", fmt.Errorf("no store in %s", cfg.StateDir))
	} else if err != nil {
		return err
	}
	err = s.replayStored(cmd, st, cfg.PoP, rules)
	return errors.Join(err, st.Close())
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
	err = s.replay(cmd, rules, simulate.Stored{PoP: pop, WindowSeconds: rules.WindowSeconds, Archive: st})
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
	asJSON, err := s.g.json()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	each := simulatedLine(out, asJSON)
	tell, done := progress(cmd)
	n := 0
	err = simulate.Replay(cmd.Context(), rules, from, func(r simulate.Round) error {
		if n++; n%12 == 0 {
			tell("%d rounds", n)
		}
		return each(r)
	})
	done()
	return errors.Join(err, out.Flush())
}

// simulatedLine prints rounds as they come.
func simulatedLine(w io.Writer, asJSON bool) func(simulate.Round) error {
	if asJSON {
		enc := json.NewEncoder(w)
		return func(r simulate.Round) error { return enc.Encode(r) }
	}
	return show.SimulatedRounds(w)
}
