//go:build !small

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/popday/popreport"
	"github.com/congctl/congctl/scenarios"
)

var _ popreport.LoopStore = (*sqlite.Store)(nil)

func newLabPopReport(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "pop-report DIR",
		Short: "Compare the runs of a day of a point of presence and write a report",
		Long: `pop-report reads a folder whose subfolders are runs of one day under several
policies and seeds, as lab pop writes them, compares them, and writes report.html,
report.md and report.json into it. docs/format/pop-report.md explains them.`,
		Example: "  congctl lab pop-report demo",
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

// sayDay prints the summary and where the page is.
func sayDay(w io.Writer, dir string, r *popday.Report) error {
	return popreport.Text(w, r, filepath.Join(dir, popreport.PageFile))
}

// openDayStore opens the store in a run's folder, which must stay as it is.
func openDayStore(ctx context.Context, path string) (popreport.LoopStore, error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true, Still: true, SkipCheck: true})
	if err != nil {
		return nil, fmt.Errorf("open store of a day: %w", err)
	}
	return s, nil
}

// dayConfig returns congctl's configuration in the runs that have it.
func dayConfig(d *pop.Day, policy string) (config.Config, error) {
	_, cfg, err := popConfig(d, policy)
	return cfg, err
}
