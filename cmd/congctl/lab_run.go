//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/lab"
	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/scenarios"
)

const (
	exitInterrupted = 130 // as a shell says of a program that Ctrl-C ended

	worldVM    = "vm"
	worldUML   = "uml"
	worldNetns = "netns"
	worldAuto  = "auto" // uml where it runs, else vm
	// defaultLimit bounds a run's wall time: the longest shipped cell takes a third of it on
	// a slow core.
	defaultLimit = 30 * time.Minute
)

// labRun holds the flags of `lab run`.
type labRun struct {
	global *global
	place  labPlace
	choice lab.Choice
	out    string
	resume bool
	budget time.Duration
	limit  time.Duration
}

// labPlace is where cells run.
type labPlace struct {
	world          string
	image, modules string
	cache          string
	noFetch        bool
	jobs           int
}

func newLabRun(g *global) *cobra.Command {
	l := &labRun{global: g}
	cmd := &cobra.Command{
		Use:   "run NAME|FILE.yml",
		Short: "Run a scenario, judge every cell, write a folder with reports",
		Long: `run gives each cell of a scenario a network of its own with a real kernel: by
default in QEMU, in virtual time, without root and on any machine (--world vm); some
ten times faster with a kernel that is a program (--world uml, once congctl lab kernel
build has built it; --world auto takes it where it runs, else QEMU); or on this host's
kernel in real time (--world netns, needs root and netem).

Each finished cell is stored at once. After an interruption, run the same command with
--resume to continue.

Exit codes: 0 all cells are valid; 1 some are INVALID; 2 bad input, or nothing could
run; 130 interrupted.`,
		Example: `  congctl lab run quick
  congctl lab run loss-sweep --seeds 10 --out sweep
  congctl lab run loss-sweep --cells 'loss=16%' --out one
  congctl lab run my.yml --kernel ./bzImage --modules ./lib/modules/6.12.1
  sudo congctl lab run my.yml --world netns`,
		ValidArgsFunction: shippedOr(scenarios.Cells),
		RunE:              func(cmd *cobra.Command, args []string) error { return l.run(cmd, args) },
	}
	l.flags(cmd.Flags())
	complete(cmd, "world", []string{worldVM, worldUML, worldAuto, worldNetns})
	return cmd
}

func (l *labRun) flags(f *pflag.FlagSet) {
	pathVar(f, &l.out, "out", "", "", "folder for the results (default NAME.lab)")
	f.BoolVar(&l.resume, "resume", false, "continue the folder of an interrupted run")
	f.Uint64Var(&l.choice.First, "seed", 0, "first seed (default the scenario's)")
	f.IntVar(&l.choice.Count, "seeds", 0, "seeds of each cell, exactly (default the scenario's)")
	f.StringVar(&l.choice.Cells, "cells", "", "only the cells whose name matches this regular expression")
	f.DurationVar(&l.budget, "budget", 0, "wall time after which no cell gets another seed (default none)")
	f.DurationVar(&l.limit, "limit", defaultLimit, "wall time after which a cell counts as hung and is ended")
	f.StringVar(&l.place.world, "world", worldVM, "vm (QEMU, virtual time), uml (the same, faster), auto, or netns (this kernel, real time, root)")
	l.place.kernelFlags(f)
	f.IntVar(&l.place.jobs, "jobs", 0, "machines at once (default and maximum: one for each CPU; netns: 1)")
}

func (p *labPlace) kernelFlags(f *pflag.FlagSet) {
	pathVar(f, &p.image, "kernel", "", "", "bzImage to boot (default this host's, else one from the distribution)")
	pathVar(f, &p.modules, "modules", "", "", "folder with that kernel's modules, lib/modules/RELEASE")
	p.cacheFlag(f)
	f.BoolVar(&p.noFetch, "no-fetch", false, "do not download a kernel where none is found")
}

func (p *labPlace) cacheFlag(f *pflag.FlagSet) {
	pathVar(f, &p.cache, "cache", "", "", "folder for kernels (default congctl/kernels in the user's cache)")
}

func (l *labRun) run(cmd *cobra.Command, args []string) error {
	if err := l.zeroes(cmd.Flags()); err != nil {
		return usage(err)
	}
	m, err := l.manifest(args[0])
	if errors.As(err, new(*coded)) {
		return err
	} else if err != nil {
		return usage(err)
	}
	site, err := l.place.open(cmd.Context(), &m)
	if err != nil {
		return usage(err)
	}
	f, err := l.folder(args[0], m)
	if errors.Is(err, lab.ErrTaken) {
		return &coded{exitUsage, again(cmd, args), err}
	} else if err != nil {
		return usage(err)
	}
	switch err := l.cells(cmd, f, site); {
	case cmd.Context().Err() != nil:
		return &coded{exitInterrupted, again(cmd, args), errors.New("interrupted: finished cells are stored")}
	case err != nil:
		return usage(err)
	}
	return l.global.labResult(cmd, f)
}

// zeroes refuses a 0 that would stand for the scenario's own number.
func (l *labRun) zeroes(f *pflag.FlagSet) error {
	for name, zero := range map[string]bool{"seed": l.choice.First == 0, "seeds": l.choice.Count == 0} {
		if zero && f.Changed(name) {
			return fmt.Errorf("--%s 0: use 1 or more, or leave it out for the scenario's", name)
		}
	}
	return nil
}

func (l *labRun) manifest(arg string) (m report.Manifest, err error) {
	if l.choice.Count < 0 || l.budget < 0 || l.limit <= 0 {
		return m, fmt.Errorf("--seeds %d, --budget %s, --limit %s: negative, or no limit", l.choice.Count, l.budget, l.limit)
	}
	m = report.Manifest{Format: report.Format, World: l.place.world}
	name, text, err := scenarios.Cells.Read(arg)
	if err != nil {
		return m, &coded{exitUsage, "congctl lab list", err}
	}
	m.Scenario = report.NewText(name, text)
	if m.Congctl, err = report.ThisBinary(version); err != nil {
		return m, err
	}
	return m, l.choice.Choose(&m)
}

func (l *labRun) folder(arg string, m report.Manifest) (*lab.Folder, error) {
	if l.out == "" {
		l.out = strings.TrimSuffix(strings.TrimSuffix(m.Scenario.Name, ".yml"), ".yaml") + ".lab"
	}
	if l.resume {
		return lab.Resume(l.out, m, time.Now)
	}
	return lab.Create(l.out, m, time.Now)
}

func (l *labRun) cells(cmd *cobra.Command, f *lab.Folder, site labSite) error {
	kept, err := f.Kept()
	if err != nil {
		return err
	}
	meter := lab.NewMeter(f.Scenario.Name, raw(cmd.ErrOrStderr()), isTerminal(cmd.ErrOrStderr()), time.Now)
	r := lab.Runner{World: site.world, CPUs: site.cpus, Limit: l.limit, Budget: l.budget, Keep: f.Keep, Meter: meter, Now: time.Now}
	err = r.Run(cmd.Context(), f.Scenario, kept)
	meter.Close()
	if cost := f.Cost(); cost != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), cost)
	}
	return err
}

// again returns the command line that continues the run.
func again(cmd *cobra.Command, args []string) string {
	var words []string
	for _, a := range args {
		words = append(words, change.Quoted(a))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "resume" {
			value := f.Value.String()
			if list, ok := f.Value.(pflag.SliceValue); ok { // which prints itself in brackets
				value = strings.Join(list.GetSlice(), ",")
			}
			words = append(words, change.Quoted("--"+f.Name+"="+value))
		}
	})
	return cmd.CommandPath() + " " + strings.Join(append(words, "--resume"), " ")
}

// labSite is a world that is ready, with the CPUs for its runs.
type labSite struct {
	world lab.World
	cpus  []int
}

// open finds what the world needs and notes it in m.
func (p *labPlace) open(ctx context.Context, m *report.Manifest) (labSite, error) {
	switch p.world {
	case worldVM, worldUML, worldAuto:
		return p.openVM(ctx, m)
	case worldNetns:
		return p.openNetns(m)
	}
	return labSite{}, fmt.Errorf("--world %q: use vm, uml, auto or netns", p.world)
}

// slots numbers the concurrent runs, at most `most`.
func (p *labPlace) slots(flag string, most int, why string) (cpus []int, err error) {
	if p.jobs < 0 || p.jobs > most {
		return nil, fmt.Errorf("%s %d: use 1 to %d: %s", flag, p.jobs, most, why)
	}
	if p.jobs > 0 {
		most = p.jobs
	}
	for i := range most {
		cpus = append(cpus, i)
	}
	return cpus, nil
}
