package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/linux/instance"
)

func newChange(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "change",
		Short: "Show the journals of changes to this host, or set one aside",
		Long: `change shows the journals that host enable and shape set keep, with those that are
damaged or that somebody else could have written, and sets one aside.`,
	}
	cmd.AddCommand(newChangeList(g), newChangeForget(g))
	return cmd
}

// ChangeRow is a journal as change list shows it.
type ChangeRow struct {
	ID      string `json:"id"`
	Subject string `json:"subject"` // "" if the journal is not believed
	Verb    string `json:"verb"`
	AtUnixS int64  `json:"at_unix_s"`
	Phase   string `json:"phase"` // or unusable
	Problem string `json:"problem"`
}

// ChangeForgotten is the answer of change forget.
type ChangeForgotten struct {
	ID   string `json:"id"`
	File string `json:"file"` // where the journal is now
}

// unusable is the phase of a journal that is not believed.
const unusable = "unusable"

func newChangeList(g *global) *cobra.Command {
	changes := carry.DefaultDir
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the journals, and say which of them are not believed and why",
		Example: "  sudo congctl change list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := journalsIn(changes).All()
			if err != nil {
				return failed("", err)
			}
			rows := []ChangeRow{}
			for _, k := range list {
				rows = append(rows, changeRow(k))
			}
			return g.printTable(cmd, rows, func(w io.Writer) error { return writeChanges(w, rows) })
		},
	}
	changesFlag(cmd, &changes)
	return cmd
}

func journalsIn(dir string) *carry.Engine {
	return carry.New(carry.Options{Disk: hostDisk(), Dir: dir})
}

func changeRow(k carry.Kept) ChangeRow {
	if k.Why != nil {
		return ChangeRow{ID: k.ID, Phase: unusable, Problem: k.Why.Error()}
	}
	j := k.Journal
	return ChangeRow{ID: k.ID, Subject: j.Subject, Verb: j.Verb, AtUnixS: j.At.Unix(), Phase: string(j.Phase)}
}

func writeChanges(w io.Writer, rows []ChangeRow) error {
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{r.ID, answer.Stamp(r.AtUnixS), r.Phase, cmp.Or(r.Problem, r.Verb, "-")})
	}
	return answer.Table(w, "ID AT PHASE BY", cells)
}

func newChangeForget(g *global) *cobra.Command {
	changes, yes := carry.DefaultDir, false
	cmd := &cobra.Command{
		Use:   "forget ID",
		Short: "Set a journal aside: nothing undoes its change any more",
		Long: `forget renames a journal, and keeps the file. Whatever its change did to the host
stays as it is; undo it by hand where it must go. It asks first.

Exit codes: 0 the journal is set aside; 1 failed; 2 wrong usage; 3 there is no such
journal; 4 it was not confirmed, and nothing was done.`,
		Example: "  sudo congctl change forget 000003-host\n  sudo congctl change forget 000003-host --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			return forget(g, cmd, changes, args[0], yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	changesFlag(cmd, &changes)
	return cmd
}

func forget(g *global, cmd *cobra.Command, dir, id string, yes bool) error {
	e := journalsIn(dir)
	list, err := e.All()
	if err != nil {
		return failed("", err)
	}
	var row ChangeRow
	for _, k := range list {
		if k.ID == id {
			row = changeRow(k)
		}
	}
	if row.ID == "" {
		return notFound("congctl change list", fmt.Errorf("forget %q in %s: %w", id, dir, carry.ErrNoJournal))
	}
	if !yes && !agreed(cmd, row) {
		return &coded{exitRefused, "congctl change forget " + id + " --yes", errors.New("not confirmed; nothing was done")}
	}
	lock, err := instance.Acquire(dir)
	if err != nil {
		return err
	}
	file, err := e.Forget(id)
	if err := errors.Join(err, lock.Release()); err != nil {
		return failed("", err)
	}
	return g.printText(cmd, ChangeForgotten{id, file}, fmt.Sprintf("%s: set aside as %s\n", id, file))
}

// agreed asks whoever types.
func agreed(cmd *cobra.Command, row ChangeRow) bool {
	what := "it is " + row.Phase + ": " + cmp.Or(row.Problem, row.Verb)
	if row.Phase != unusable && row.Phase != string(change.Gone) {
		what += "; what it changed stays, and congctl can no longer undo it"
	}
	return confirmed(cmd, fmt.Sprintf("set aside %s? %s", row.ID, what))
}
