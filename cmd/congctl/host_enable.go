package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/enable"
	"github.com/congctl/congctl/internal/host/kernel/bbr"
	"github.com/congctl/congctl/internal/linux/instance"
)

func newHostEnable(g *global) *cobra.Command {
	var dryRun bool
	changes := carry.DefaultDir
	cmd := &cobra.Command{
		Use:   "enable bbr",
		Short: "Turn BBR on, now and after a reboot; undone by host disable",
		Long: `enable notes each value in a journal before it writes it, reads all of them back,
and opens connections that must report bbr. If anything fails, all changes are undone.

Exit codes: 0 BBR is on; 1 failed, and all changes were undone (or the error
says which were not); 2 wrong usage; 4 not possible here, and nothing was changed:
the output says what is missing and how to get it.`,
		Example: "  congctl host enable bbr --dry-run\n  sudo congctl host enable bbr",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != enable.Cong {
				return fmt.Errorf("host enable %q: name what to enable: bbr", strings.Join(args, " "))
			}
			return nil
		},
		ValidArgs: []string{enable.Cong},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := enabled(changes, dryRun)
			if err := refusedHere(g, cmd, err, dryRun); err != nil {
				return err
			}
			v := enableView(r, dryRun, changes)
			return g.print(cmd, v, v.Write)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print each change and make none")
	changesFlag(cmd, &changes)
	return cmd
}

func changesFlag(cmd *cobra.Command, dir *string) {
	pathVar(cmd.Flags(), dir, "changes", "", *dir, "directory of the journals of changes")
}

func enabled(changes string, dryRun bool) (r bbr.Result, err error) {
	h, err := bbrHost(changes)
	if err != nil {
		return r, err
	}
	if dryRun {
		return h.Show()
	}
	return h.Enable("host enable bbr", time.Now())
}

// refusedHere maps the ways in which enabling ends early to exit codes.
func refusedHere(g *global, cmd *cobra.Command, err error, dryRun bool) error {
	var missing bbr.MissingError
	var wrong *coded
	switch {
	case err == nil, errors.As(err, &wrong):
		return err
	case errors.As(err, &missing):
		v := enable.View{DryRun: dryRun, Missing: missing}
		if err := g.print(cmd, v, v.Write); err != nil {
			return err
		}
		return &coded{exitRefused, "congctl host check", errors.New("BBR cannot be turned on here; nothing was changed")}
	case errors.Is(err, instance.ErrRunning):
		return failed("again in a moment", err)
	}
	return failed("congctl host check", err)
}

func enableView(r bbr.Result, dryRun bool, changes string) enable.View {
	v := enable.View{DryRun: dryRun, Steps: r.Steps, Notes: r.Notes}
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

// undoCommand returns the command that finds the journal again.
func undoCommand(changes string) string {
	if changes == carry.DefaultDir {
		return "sudo congctl host disable"
	}
	return "sudo congctl host disable --changes " + changes
}
