package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/show"
	"github.com/congctl/congctl/internal/kernel/change"
	"github.com/congctl/congctl/internal/kernel/enable"
	"github.com/congctl/congctl/internal/kernel/host"
	"github.com/congctl/congctl/internal/kernel/instance"
)

func newHostDisable(g *global) *cobra.Command {
	var force bool
	changes := change.DefaultDir
	cmd := &cobra.Command{
		Use:   "disable",
		Short: "Take back exactly what host enable changed, value by value",
		Long: `disable restores each value that enable changed, from its journal, in reverse
order, also after a reboot or a crash. A value that somebody changed since is named
and left as it is, one that cannot be written is named with the command that restores
it, and the others are restored.

Exit codes: 0 all is as before; 1 failed, and the same again goes on; 2 wrong usage;
3 nothing to take back; 4 somebody changed values since: they are left; or a limit of
congctl shape lies over what enable put on an interface: nothing was taken back.`,
		Example: "  sudo congctl host disable\n  sudo congctl host disable --force",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := placeOfChanges(changes); err != nil {
				return err
			}
			e, err := enable.New(hostDisk(), changes, host.Local().Read)
			if err != nil {
				return err
			}
			r, err := e.Disable(force)
			v := undoView(r)
			if len(r.Restored)+len(r.Left)+len(r.Refused)+len(r.Failed) > 0 {
				err = errors.Join(err, g.print(cmd, v, func(w io.Writer) error { return show.Undo(w, v) }))
			}
			return disabled(r, err, undoCommand(changes))
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "restore values that somebody changed since, too")
	changesFlag(cmd, &changes)
	return cmd
}

func disabled(r change.Report, err error, again string) error {
	var limited enable.LimitedError
	switch {
	case errors.As(err, &limited):
		return &coded{exitRefused, "sudo congctl shape clear " + limited[0] + ", then the same again", err}
	case errors.Is(err, change.ErrNothing):
		return notFound("congctl host check", err)
	case errors.Is(err, instance.ErrRunning):
		return failed("the same again in a moment", err)
	case err != nil:
		return failed(again, err)
	case len(r.Refused) > 0:
		return &coded{exitRefused, again + " --force", fmt.Errorf("changed by somebody since, and left: %s", r.Refused)}
	}
	return nil
}

func undoView(r change.Report) show.UndoView {
	return show.UndoView{Restored: undone(r.Restored), Left: undone(r.Left), Refused: undone(r.Refused), Failed: undone(r.Failed)}
}

func undone(notes change.Notes) []show.UndoneStep {
	list := []show.UndoneStep{}
	for _, n := range notes {
		list = append(list, show.UndoneStep{Kind: n.Step.Kind, Target: n.Step.Target, Value: n.Step.Old, Text: n.Text})
	}
	return list
}
