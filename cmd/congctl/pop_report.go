package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/popreport"
	"github.com/congctl/congctl/internal/core/pop"
	"github.com/congctl/congctl/internal/core/popday"
	"github.com/congctl/congctl/internal/data/sqlite"
	"github.com/congctl/congctl/scenarios"
)

var _ popreport.Store = (*sqlite.Store)(nil)

func newLabPopReport(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "pop-report DIR",
		Short: "Compare the runs of a point of presence's day and write what came out",
		Long: `pop-report reads a folder whose subfolders are runs of one day under several
policies and seeds, as lab pop writes them, compares them, and writes report.html,
report.md and report.json into it. docs/format/pop-report.md explains them.`,
		Example: "  congctl lab pop-report demo",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := reportDay(cmd.Context(), args[0])
			if err != nil {
				return usage(err)
			}
			return g.print(cmd, r, func(w io.Writer) error { return sayDay(w, args[0], r) })
		},
	}
}

// reportDay compares the runs in a folder and writes the report's files into it.
func reportDay(ctx context.Context, dir string) (*popday.Report, error) {
	in, err := popreport.Read(ctx, dir, popreport.Source{Open: openDayStore, Shipped: scenarios.Days.Text, Config: dayConfig})
	if err != nil {
		return nil, err
	}
	r, err := popday.Build(in)
	if err != nil {
		return nil, err
	}
	return r, popreport.Write(dir, r)
}

// sayDay is the summary with the place of the page.
func sayDay(w io.Writer, dir string, r *popday.Report) error {
	if err := popreport.Text(w, r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nreport: %s\n", filepath.Join(dir, popreport.PageFile))
	return err
}

// dayStore is a copy of a run's store: SQLite leaves files of its own beside one that
// it reads, and a run's folder stays as it is.
type dayStore struct {
	*sqlite.Store
	copy string // folder
}

// Close ends the store and removes the copy.
func (s *dayStore) Close() error { return errors.Join(s.Store.Close(), os.RemoveAll(s.copy)) }

func openDayStore(ctx context.Context, path string) (popreport.Store, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open store of a day: %w", err)
	}
	dir, err := os.MkdirTemp("", "congctl-day-")
	if err != nil {
		return nil, fmt.Errorf("open store of a day: %w", err)
	}
	name := filepath.Join(dir, storeFile)
	var s *sqlite.Store
	if err = os.WriteFile(name, b, 0o600); err == nil {
		s, err = sqlite.Open(ctx, name, sqlite.Options{ReadOnly: true, SkipCheck: true})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store of a day: %w", err), os.RemoveAll(dir))
	}
	return &dayStore{s, dir}, nil
}

// dayConfig is congctl's configuration in the runs of a day that have it.
func dayConfig(d *pop.Day) (config.Config, error) { return popConfig(d, policyLoop) }
