package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/enable"
	"github.com/congctl/congctl/internal/host/kernel/bbr"
	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/linux/instance"
)

func newHostEnable(g *global) *cobra.Command {
	var dryRun, atBoot bool
	changes := carry.DefaultDir
	cmd := &cobra.Command{
		Use:   "enable {bbr|cubic_lt}",
		Short: "Turn BBR or cubic_lt on, now and after a reboot; undone by host disable",
		Long: `enable notes each value in a journal before it writes it, reads all of them back,
and opens connections that must report it. If anything fails, all changes are undone.
cubic_lt is loss-tolerant CUBIC, for every connection (docs/cubic-lt.md).

Exit codes: 0 it is on; 1 failed, and all changes were undone (or the error
says which were not); 2 wrong usage; 4 not possible here, and nothing was changed:
the output says what is missing and how to get it.`,
		Example: "  congctl host enable bbr --dry-run\n  sudo congctl host enable bbr\n  sudo congctl host enable cubic_lt",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != enable.Cong && args[0] != cubiclt.Name {
				return fmt.Errorf("host enable %q: name what to enable: bbr or cubic_lt", strings.Join(args, " "))
			}
			if atBoot && args[0] != cubiclt.Name {
				return errors.New("host enable --at-boot: only for cubic_lt: files turn BBR on at boot")
			}
			if atBoot && (dryRun || cmd.Flags().Changed("changes")) {
				return errors.New("host enable --at-boot: leave out --dry-run and --changes: it keeps no journal")
			}
			return nil
		},
		ValidArgs: []string{enable.Cong, cubiclt.Name},
		RunE: func(cmd *cobra.Command, args []string) error {
			if atBoot {
				if err := bbr.CubicLTUntilReboot(); err != nil {
					return failed("congctl host check", err)
				}
				return nil
			}
			r, err := enabled(changes, args[0], dryRun)
			if err := refusedHere(g, cmd, err, args[0], dryRun); err != nil {
				return err
			}
			v := enableView(r, args[0], dryRun, changes)
			return g.print(cmd, v, v.Write)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print each change and make none")
	cmd.Flags().BoolVar(&atBoot, "at-boot", false, "turn cubic_lt on until the next boot, without a journal: what its unit does")
	changesFlag(cmd, &changes)
	return cmd
}

func changesFlag(cmd *cobra.Command, dir *string) {
	pathVar(cmd.Flags(), dir, "changes", "", *dir, "directory of the journals of changes")
}

func enabled(changes, cong string, dryRun bool) (r bbr.Result, err error) {
	h, err := bbrHost(changes)
	if err != nil {
		return r, err
	}
	if cong == cubiclt.Name {
		h.CubicLT(unitProgram())
	}
	if dryRun {
		return h.Show()
	}
	return h.Enable("host enable "+cong, time.Now())
}

// unitProgram is this program for a unit that root runs at each boot, or why it cannot be.
func unitProgram() (path, why string) {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		err = onlyRootWrites(path)
	}
	switch {
	case err != nil:
		return "", err.Error() + ": install congctl's package, then run this again"
	case change.Quoted(path) != path || strings.Contains(path, "%"):
		return "", fmt.Sprintf("a unit of systemd cannot have the path %q: install congctl's package, then run this again", path)
	}
	return path, ""
}

// onlyRootWrites: what a unit starts as root, no other user may change.
func onlyRootWrites(path string) error {
	for ; ; path = filepath.Dir(path) {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return fmt.Errorf("look at %s: %w", path, err)
		}
		if st.Uid != 0 || st.Mode&0o022 != 0 {
			return fmt.Errorf("users other than root may change %s, which a unit would run as root at each boot", path)
		}
		if path == "/" {
			return nil
		}
	}
}

// refusedHere maps the ways in which enabling ends early to exit codes.
func refusedHere(g *global, cmd *cobra.Command, err error, cong string, dryRun bool) error {
	var missing bbr.MissingError
	var wrong *coded
	switch {
	case err == nil, errors.As(err, &wrong):
		return err
	case errors.As(err, &missing):
		v := enable.View{Cong: cong, DryRun: dryRun, Missing: missing}
		if err := g.print(cmd, v, v.Write); err != nil {
			return err
		}
		return &coded{exitRefused, "congctl host check", fmt.Errorf("%s cannot be turned on here; nothing was changed", enable.Spelled(cong))}
	case errors.Is(err, instance.ErrRunning):
		return failed("again in a moment", err)
	}
	return failed("congctl host check", err)
}

func enableView(r bbr.Result, cong string, dryRun bool, changes string) enable.View {
	v := enable.View{Cong: cong, DryRun: dryRun, Steps: r.Steps, Notes: r.Notes}
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
