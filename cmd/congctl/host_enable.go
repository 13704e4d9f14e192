package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/show"
	coreenable "github.com/congctl/congctl/internal/core/enable"
	"github.com/congctl/congctl/internal/kernel/change"
	"github.com/congctl/congctl/internal/kernel/enable"
	"github.com/congctl/congctl/internal/kernel/host"
	"github.com/congctl/congctl/internal/kernel/instance"
)

func newHostEnable(g *global) *cobra.Command {
	var dryRun bool
	var paper string
	changes := change.DefaultDir
	cmd := &cobra.Command{
		Use:   "enable bbr",
		Short: "Turn BBR on, now and after a reboot; undone by host disable",
		Long: `enable writes each value under a journal, reads all of them back, and makes
connections that must report bbr. If anything fails, all is taken back.

Exit codes: 0 BBR is on, by this or already; 1 failed, and all is as it was before
(the error says so, or what is not); 2 wrong usage; 4 cannot be done here, and
nothing was changed: what is missing, and who can grant it.`,
		Example: "  congctl host enable bbr --dry-run\n  sudo congctl host enable bbr",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != coreenable.Cong {
				return usage(fmt.Errorf("host enable %q: say what to enable: bbr", strings.Join(args, " ")))
			}
			return nil
		},
		ValidArgs: []string{coreenable.Cong},
		RunE: func(cmd *cobra.Command, args []string) error {
			if paper != "" && !dryRun {
				return usage(errors.New("--paper: a host on paper cannot be changed: add --dry-run"))
			}
			if err := placeOfChanges(changes); err != nil {
				return err
			}
			r, err := enabled(paper, changes, dryRun)
			if err := refusedHere(g, cmd, err, dryRun); err != nil {
				return err
			}
			v := enableView(r, dryRun, changes)
			return g.print(cmd, v, func(w io.Writer) error { return show.Enable(w, v) })
		},
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "print each write and write nothing")
	cmd.Flags().StringVar(&paper, "paper", "", "plan for the host that this file describes; needs --dry-run")
	changesFlag(cmd, &changes)
	return cmd
}

func changesFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "changes", *dir, "directory of the journals of changes")
}

// placeOfChanges: enable and disable must mean the same directory, wherever they are run.
func placeOfChanges(dir string) error {
	if !filepath.IsAbs(dir) {
		return usage(fmt.Errorf("--changes %q: write a whole path, as %s", dir, change.DefaultDir))
	}
	return nil
}

func enabled(paper, changes string, dryRun bool) (enable.Result, error) {
	h, err := theHost(paper)
	if err != nil {
		return enable.Result{}, err
	}
	if paper != "" {
		return enable.ShowPaper(h.Read())
	}
	e, err := enable.New(hostDisk(), changes, host.Local().Read)
	if err != nil {
		return enable.Result{}, err
	}
	if dryRun {
		return e.Show()
	}
	return e.Enable("host enable bbr", time.Now())
}

// refusedHere turns the ways in which enabling ends early into exit codes.
func refusedHere(g *global, cmd *cobra.Command, err error, dryRun bool) error {
	var missing enable.MissingError
	var wrong *coded
	switch {
	case err == nil, errors.As(err, &wrong):
		return err
	case errors.As(err, &missing):
		v := show.EnableView{DryRun: dryRun, Missing: missing}
		if err := g.print(cmd, v, func(w io.Writer) error { return show.Enable(w, v) }); err != nil {
			return err
		}
		return &coded{exitRefused, "congctl host check", errors.New("BBR cannot be turned on here; nothing was changed")}
	case errors.Is(err, instance.ErrRunning):
		return failed("the same again in a moment", err)
	}
	return failed("congctl host check", err)
}

func enableView(r enable.Result, dryRun bool, changes string) show.EnableView {
	v := show.EnableView{DryRun: dryRun, Steps: r.Steps, Notes: r.Notes}
	for _, j := range r.Finished {
		v.Ended = append(v.Ended, j.ID)
	}
	if r.Journal != nil {
		v.Journal, v.Undo = r.Journal.ID, undoCommand(changes)
	}
	for _, p := range r.Proofs {
		v.Proofs = append(v.Proofs, p.String())
	}
	return v
}

// undoCommand finds the journal again.
func undoCommand(changes string) string {
	if changes == change.DefaultDir {
		return "sudo congctl host disable"
	}
	return "sudo congctl host disable --changes " + changes
}
