//go:build !small

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/congctl/congctl/internal/lab"
	"github.com/congctl/congctl/internal/lab/report"
)

// labCompare holds the flags of `lab compare`.
type labCompare struct {
	global *global
	worlds []string // scenarios
	run    labRun   // with worlds
}

func newLabCompare(g *global) *cobra.Command {
	l := &labCompare{global: g}
	l.run = labRun{global: g, limit: defaultLimit}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two results folders cell by cell, with intervals, or two worlds",
		Long: `compare sets two results folders side by side, cell by cell. With --worlds,
in their place, it runs scenarios in world vm and in world uml first, into NAME.vm.lab
and NAME.uml.lab, and continues folders that are there.

Exit codes: 0 compared, and with --worlds both agree: the same winners and verdicts, and no
cell that is faster in one of them or has no number; 1 they do not; 2 bad input;
130 interrupted.`,
		Example: "  congctl lab compare linux-6.1/ linux-6.12/\n  congctl lab compare --worlds quick,loss-sweep,rtt-sweep --seeds 10",
		Args:    l.args,
		RunE:    l.compare,
	}
	f := cmd.Flags()
	f.StringSliceVar(&l.worlds, "worlds", nil, "scenarios or files to run in vm and in uml, and compare")
	f.IntVar(&l.run.choice.Count, "seeds", 0, "with --worlds: seeds of each cell, exactly (default the scenario's)")
	f.StringVar(&l.run.choice.Cells, "cells", "", "with --worlds: only the cells whose name matches this regular expression")
	pathVar(f, &l.run.out, "out", "", ".", "with --worlds: folder for the two results folders of each scenario")
	l.run.place.cacheFlag(f)
	return cmd
}

func (l *labCompare) args(cmd *cobra.Command, args []string) (err error) {
	if len(l.worlds) == 0 {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Changed {
				err = cmp.Or(err, fmt.Errorf("--%s %s: only with --worlds", f.Name, f.Value))
			}
		})
		return cmp.Or(err, asSynopsis(cmd, args))
	}
	if len(args) > 0 {
		return fmt.Errorf("--worlds %s: leave out %q; scenarios are joined by commas", strings.Join(l.worlds, ","), args[0])
	}
	return nil
}

func (l *labCompare) compare(cmd *cobra.Command, args []string) error {
	if len(l.worlds) == 0 {
		c, err := comparedFolders(args[0], args[1])
		if err != nil {
			return err
		}
		return l.global.print(cmd, c, func(w io.Writer) error { return c.Table(w, width(w)) })
	}
	if err := l.run.zeroes(cmd.Flags()); err != nil {
		return usage(err)
	}
	apart, all := 0, []*report.Comparison{}
	for _, name := range l.worlds {
		c, err := l.inBoth(cmd, name)
		if cmd.Context().Err() != nil {
			return &coded{exitInterrupted, "the same command continues", errors.New("interrupted: finished cells are stored")}
		} else if err != nil {
			return err
		}
		apart, all = apart+c.Apart(), append(all, c)
	}
	err := l.global.print(cmd, all, func(w io.Writer) error {
		for i, c := range all {
			fmt.Fprintln(w, l.worlds[i])
			if err := c.Table(w, width(w)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if apart > 0 {
		return failed("", fmt.Errorf("the worlds disagree on %d cells or winners", apart))
	}
	return nil
}

// inBoth runs a scenario in both worlds, or what is left of it.
func (l *labCompare) inBoth(cmd *cobra.Command, name string) (*report.Comparison, error) {
	var folders []string
	for _, world := range []string{worldUML, worldVM} { // the fast one first: its kernel may not be built
		r := l.run
		r.place.world = world
		m, err := r.manifest(name)
		if errors.As(err, new(*coded)) {
			return nil, err
		} else if err != nil {
			return nil, usage(err)
		}
		r.out = filepath.Join(l.run.out, m.Scenario.Name[:len(m.Scenario.Name)-len(filepath.Ext(m.Scenario.Name))]+"."+world+".lab")
		site, err := r.place.open(cmd.Context(), &m)
		if err != nil {
			return nil, usage(err)
		}
		f, err := lab.Create(r.out, m, time.Now)
		if errors.Is(err, lab.ErrTaken) {
			f, err = lab.Resume(r.out, m, time.Now)
		}
		if err != nil {
			return nil, usage(err)
		}
		if err := r.cells(cmd, f, site); err != nil {
			return nil, usage(err)
		}
		if _, err := f.Write(); err != nil {
			return nil, usage(err)
		}
		folders = append(folders, r.out)
	}
	return comparedFolders(folders[1], folders[0])
}

func comparedFolders(a, b string) (*report.Comparison, error) {
	first, errA := report.Open(a)
	second, errB := report.Open(b)
	if err := errors.Join(errA, errB); err != nil {
		return nil, usage(err)
	}
	return report.Compare(first, second), nil
}
