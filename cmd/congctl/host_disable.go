package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/enable"
	"github.com/congctl/congctl/internal/host/kernel/bbr"
	"github.com/congctl/congctl/internal/linux/instance"
)

func newHostDisable(g *global) *cobra.Command {
	var force bool
	changes := carry.DefaultDir
	cmd := &cobra.Command{
		Use:   "disable",
		Short: "Undo exactly what host enable changed, value by value",
		Long: `disable restores each value that enable changed, from its journal, in reverse
order, even after a reboot or a crash. A value that others have changed since is named
and left; one that cannot be written is named with the command that restores it; all
others are restored.

Exit codes: 0 everything is restored; 1 failed, and running it again continues;
2 wrong usage; 3 nothing to undo; 4 others changed values since, and they are left; or
congctl shape limits an interface that enable changed, and nothing was undone.`,
		Example: "  sudo congctl host disable\n  sudo congctl host disable --force",
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := bbrHost(changes)
			if err != nil {
				return err
			}
			r, err := h.Disable(force)
			v := undoView(r)
			if len(r.Restored)+len(r.Left)+len(r.Refused)+len(r.Failed) > 0 {
				err = errors.Join(err, g.print(cmd, v, v.Write))
			}
			return disabled(r, err, undoCommand(changes))
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also restore values that others changed since")
	changesFlag(cmd, &changes)
	return cmd
}

func disabled(r carry.Report, err error, again string) error {
	var limited bbr.LimitedError
	switch {
	case errors.As(err, &limited):
		return &coded{exitRefused, "sudo congctl shape clear " + limited[0] + ", then run this again", err}
	case errors.Is(err, carry.ErrNothing):
		return notFound("congctl host check", err)
	case errors.Is(err, instance.ErrRunning):
		return failed("again in a moment", err)
	case err != nil:
		return failed(again, err)
	case len(r.Refused) > 0:
		return &coded{exitRefused, again + " --force", fmt.Errorf("changed by others since, and left: %s", r.Refused)}
	}
	return nil
}

func undoView(r carry.Report) enable.UndoView {
	return enable.UndoView{Restored: undone(r.Restored), Left: undone(r.Left), Refused: undone(r.Refused), Failed: undone(r.Failed)}
}

func undone(notes carry.Notes) []enable.UndoneStep {
	list := []enable.UndoneStep{}
	for _, n := range notes {
		list = append(list, enable.UndoneStep{Kind: n.Step.Kind, Target: n.Step.Target, Value: n.Step.Old, Text: n.Text})
	}
	return list
}
